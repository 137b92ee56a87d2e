/* The profiles that sbx brings along, as bytes of the library (policy/builtin.c). */
.macro profile name
	.global profile_\name
	.global profile_\name\()_end
profile_\name:
	.incbin "\name\().yaml"
profile_\name\()_end:
	.byte 0
.endm

	.section .rodata.profiles, "a"
	profile base
	profile default
	profile npm
	profile node
	profile git
	profile python
	profile aider

	.section .note.GNU-stack, ""
