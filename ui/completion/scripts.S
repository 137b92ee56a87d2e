/* The shells' scripts as bytes of the library (completion/complete.h). */
.macro script name file
	.global script_\name
script_\name:
	.incbin "\file"
	.byte 0
.endm

	.section .rodata.scripts, "a"
	script bash sbx.bash
	script zsh _sbx
	script fish sbx.fish

	.section .note.GNU-stack, ""
