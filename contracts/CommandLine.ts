/** Commands that hints name: a shell, and the command `heddle` behind it, read them as they were meant. */

/** As a shell takes it for one word. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9._:@/-][A-Za-z0-9._:@/~-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** A flag with its value, which is no flag itself if it begins with a dash. */
export const flagText = (flag: string, value: string): string =>
  `--${flag}${value.startsWith("-") ? "=" : " "}${shellWord(value)}`

/** A command with its arguments. Where one begins with a dash, the flags come first, and `--` ends them. */
export const commandLine = (
  command: string,
  args: ReadonlyArray<string>,
  flags: ReadonlyArray<string> = [],
): string => {
  const words = args.map(shellWord)
  const parts = args.some((arg) => arg.startsWith("-"))
    ? [...flags, "--", ...words]
    : [...words, ...flags]
  return ["heddle", command, ...parts].join(" ")
}
