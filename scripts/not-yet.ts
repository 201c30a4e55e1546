/** Stands for a command that has a name and no code yet: says so, and fails. */
const command = process.argv[2] ?? "this command"

console.error(`heddle: "${command}" is not built yet.`)
process.exitCode = 1
