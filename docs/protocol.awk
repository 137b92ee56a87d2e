# docs/protocol.md → sbx-protocol(7) for scdoc: that document is the only source. It knows what the document uses: headings,
# lists, paragraphs, tables (a row becomes a tagged paragraph), `code` and **bold**.

# Text of a line, with what scdoc takes for marks escaped.
function escaped(text) {
	gsub(/\\/, "\\\\", text)
	gsub(/[*_]/, "\\\\&", text)
	gsub(/^[#|\[\]-]/, "\\\\&", text)
	return text
}

# `code` and *this* in bold, **this** underlined; the rest as it is.
function marked(text,    out, start, end, inner, sign) {
	while (match(text, /`[^`]+`|\*\*[^*]+\*\*|\*[a-z]+\*/)) {
		start = RSTART
		end = RSTART + RLENGTH
		out = out escaped(substr(text, 1, start - 1))
		inner = substr(text, start, RLENGTH)
		gsub(/^[`*]+|[`*]+$/, "", inner)
		sign = substr(text, start, 2) == "**" ? "_" : "*"
		out = out sign escaped(inner) sign
		text = substr(text, end)
	}
	return out escaped(text)
}

# The cells of "| a | b |"; a | that is text is written \|.
function cells(line, into,    count, i) {
	gsub(/\\\|/, "\001", line)
	sub(/^\| */, "", line)
	sub(/ *\|$/, "", line)
	count = split(line, into, / *\| */)
	for (i = 1; i <= count; i++) gsub("\001", "|", into[i])
	return count
}

BEGIN {
	print "sbx-protocol(7)\n\n# NAME\n\nsbx-protocol - how sbx, the runner and agents talk to sbxd\n"
}
/^# / {
	sub(/^# The broker's protocol, version /, "")
	print "# DESCRIPTION\n\nThis is version " $0 " of the protocol."
	next
}
/^## / {
	sub(/^## /, "")
	print "# " toupper($0)
	next
}
/^\|[-| ]+\|$/ {
	next
}
/^\|/ {
	count = cells($0, cell)
	if (!heading) {
		for (i = 1; i <= count; i++) title[i] = cell[i]
		heading = 1
		next
	}
	print marked(cell[1])
	for (i = 2; i <= count; i++) {
		sub(/^– *\.? */, "", cell[i]) # nothing; and what more is said of it
		if (cell[i] == "") continue
		print (i > 2 ? "\t\n" : "") "\t_" title[i] "_: " marked(cell[i])
	}
	print ""
	next
}
{
	heading = 0
	print (/^- / ? "- " marked(substr($0, 3)) : marked($0))
}
END {
	print "\n# SEE ALSO\n\n*sbx*(1), *sbxd*(8)"
}
