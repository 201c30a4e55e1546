/** Reading the rows of many keys, whatever a statement may bind. */
import { bindingsMax, type Sql, type SqlRow } from "../platform/ObjectStorage.ts"

/** Runs a statement with `(?, ?, …)` in place of `IN ()`, as often as it takes for all the keys. */
export const allOf = <Row extends SqlRow>(
  sql: Sql,
  statement: string,
  keys: ReadonlyArray<number | string>,
): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  for (let from = 0; from < keys.length; from += bindingsMax) {
    const some = keys.slice(from, from + bindingsMax)
    const marks = some.map(() => "?").join(", ")
    rows.push(...sql.all<Row>(statement.replace("IN ()", `IN (${marks})`), ...some))
  }
  return rows
}
