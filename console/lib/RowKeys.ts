/** Names for the rows of a list, by which a row stays the one it was when those above it go. Pure. */

/** Each by what it says of itself; of several that say the same, the later ones by their number among these too. */
export const rowKeysOf = <Row>(
  rows: ReadonlyArray<Row>,
  saysOf: (row: Row) => string,
): ReadonlyArray<string> => {
  const seen = new Map<string, number>()
  return rows.map((row) => {
    const says = saysOf(row)
    const nth = seen.get(says) ?? 0
    seen.set(says, nth + 1)
    return nth === 0 ? says : `${says} ${nth}`
  })
}
