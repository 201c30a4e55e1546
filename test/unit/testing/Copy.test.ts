/** What the testing kit sends is copied as a wire would. */
import { expect, it } from "vitest"
import { copyJson } from "../../../testing/Copy.ts"

it.each(['{"__proto__":{"a":1},"b":[{"__proto__":2}]}', '{"constructor":null}'])(
  "copies %s whole",
  (text) => {
    expect(JSON.stringify(copyJson(JSON.parse(text) as unknown))).toBe(text)
  },
)
