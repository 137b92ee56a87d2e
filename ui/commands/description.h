/*
 * description: what a tool may do, in words, for people and for a program that reads (schema: message `describe`).
 *
 * Promises: visible text alone. The Markdown is fit to be a part of what an assistant is told before it begins.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

void description_print(FILE *out, const json_t *described);
void description_print_markdown(FILE *out, const json_t *described);
