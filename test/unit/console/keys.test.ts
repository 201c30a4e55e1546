/** What a row of a list is known by. */
import { describe, expect, it } from "vitest"
import { rowKeysOf } from "../../../console/lib/RowKeys.ts"

const keysOf = (text: string) => rowKeysOf(text.split(""), (row) => row)

describe("the keys of rows", () => {
  it("are those of the rows, wherever they stand", () => {
    expect(keysOf("bc")).toEqual(keysOf("abc").slice(1))
  })

  it("are each a row's own, where several say the same", () => {
    expect(new Set(keysOf("aabab")).size).toBe(5)
    expect(keysOf("aabab").slice(0, 3)).toEqual(["a", "a 1", "b"])
  })
})
