/**
 * `docs/errors.md`: every error that a caller can get, as the contract has it. Pure.
 *
 * - E1 What an operation can fail with is the contract's word; nothing is listed by hand.
 */
import {
  type ContractModel,
  type ErrorModel,
  type Field,
  type OperationModel,
  referenceOf,
} from "./contract.ts"
import { reached } from "./shapes.ts"
import { descriptionOf, printType } from "./typescript.ts"

const intro = `# Errors

<!-- Written by \`npm run generate\` from contracts/. Do not edit: say it in the contract, and generate again. -->

Every error of a call has a name, fields and a remedy. Over Effect it is the error of the call's type
(\`Effect.catchTag("IdempotencyConflict", …)\`); in \`heddle/sdk\` it is a subclass of \`HeddleError\` that is thrown, with
its name in \`tag\` and the remedy in \`remedy\`; at the terminal it is an exit code and two sentences (\`docs/cli.md\`); over
HTTPS it is an object with its name in \`_tag\` (\`openrpc.json\`). A run that failed is none of these: it is a settlement.

Take a name that you do not know as a refusal: newer deployments may add some.
`

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ")

const typeOf = ({ schema }: Field): string =>
  printType(schema, { nameOf: (name) => name, isPayload: false })
    .replaceAll(" | (string & {})", "")
    .replaceAll("\n  | ", " | ")
    .replace(/^ \| /, "")

const wordsOf = (field: Field, { definitions }: ContractModel): string => {
  const name = referenceOf(field.schema)
  return descriptionOf(field.schema) ?? descriptionOf((name && definitions[name]) || {}) ?? ""
}

const fieldsTable = ({ fields }: ErrorModel, contract: ContractModel): string =>
  fields.length === 0
    ? ""
    : `\n| field | type | |\n| --- | --- | --- |\n${fields
        .map((field) => {
          const name = `\`${field.name}\`${field.required ? "" : ", if known"}`
          return `| ${name} | \`${cell(typeOf(field))}\` | ${cell(wordsOf(field, contract))} |\n`
        })
        .join("")}`

const listed = (names: ReadonlyArray<string>): string =>
  names.map((name) => `\`${name}\``).join(", ")

const raisedBy = (tag: string, { operations }: ContractModel): string => {
  const raises = ({ errors }: OperationModel) => errors.includes(tag) // E1
  const names = operations.filter(raises).map(({ name }) => name)
  const others = operations.filter((one) => !raises(one)).map(({ name }) => name)
  if (others.length === 0) return "Raised by every operation."
  return others.length < names.length / 3
    ? `Raised by every operation but ${listed(others)}.`
    : `Raised by ${listed(names)}.`
}

/** Operations for many answer what became of each, and an error may be what. */
const toldInside = (tag: string, { definitions, operations }: ContractModel): string => {
  const names = operations
    .filter(({ result }) => reached([result], definitions).has(tag)) // E1
    .map(({ name }) => name)
  return names.length === 0 ? "" : ` Told of one among many in the answer of ${listed(names)}.`
}

const section = (error: ErrorModel, contract: ContractModel): string => `
## \`${error.tag}\`

${error.meaning}

**Remedy.** ${error.remedy}
${fieldsTable(error, contract)}
${raisedBy(error.tag, contract)}${toldInside(error.tag, contract)}
`

/** The guide as text. */
export const errorsGuide = (contract: ContractModel): string =>
  `${intro}${contract.errors.map((error) => section(error, contract)).join("")}`
