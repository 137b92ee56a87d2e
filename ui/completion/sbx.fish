# Completion of sbx for fish. What may stand where, sbx itself says: sbx-completion(1).

function __sbx_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l word (commandline --current-token --cut-at-cursor)
    set -e words[1]
    for line in (command sbx complete -- $words "$word" 2>/dev/null)
        set -l before (string replace --regex '[^=]*$' '' -- $word)
        set -l typed (string replace --regex '^.*=' '' -- $word)
        switch $line
            case :files
                string join \n -- "$before"(__fish_complete_path "$typed")
            case :directories
                string join \n -- "$before"(__fish_complete_directories "$typed")
            case :programs
                string join \n -- "$before"(__fish_complete_command; __fish_complete_path "$typed")
            case :variables
                string join \n -- "$before"(set --names --export)
            case :users
                string join \n -- "$before"(__fish_complete_users)
            case ':command *'
                # The command in the sandbox completes as it would outside.
                set -l place (math (string replace ':command ' '' -- $line) + 1)
                complete --do-complete (string join ' ' -- (string escape -- $words[$place..]) "$word")
            case '*'
                echo $line
        end
    end
end

complete --command sbx --no-files --keep-order --arguments '(__sbx_complete)'
