import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { asksForJson } from "../../../cli/JsonFlag.ts"
import { parseJson } from "../../../cli/JsonText.ts"
import { Output } from "../../../cli/Output.ts"
import { jsonDocument, jsonLine, plain } from "../../../cli/Plain.ts"
import { fields, listTable } from "../../../cli/Table.ts"
import { durationOf, millisOf, momentOf } from "../../../cli/Times.ts"

describe("JSON that people type", () => {
  it("is read as JSON.parse reads it", () => {
    for (const text of ['{"a":[1,-2.5e3,{"b":[]}],"c":"\\u0041\\n"}', "null", " [ ] ", '"ü"']) {
      expect(parseJson(text)).toEqual({ _tag: "Json", value: JSON.parse(text) })
    }
  })

  it("is refused where it ceases to be JSON", () => {
    for (const [text, line, column, reason] of [
      ["", 1, 1, "expected a value, found the end"],
      ['{"a":1,}', 1, 8, "expected a name in double quotes"],
      ['{\n  "a": tru\n}', 2, 8, "expected a value"],
      ["[1 2]", 1, 4, 'expected "," or "]"'],
      ["{'a':1}", 1, 2, "expected a name in double quotes"],
      ['{"a" 1}', 1, 6, 'expected ":"'],
      ['{"a":"b', 1, 6, "does not end"],
      ["01", 1, 2, "expected nothing more"],
      ["[[[", 1, 4, "found the end"],
      ["NaN", 1, 1, "expected a value"],
    ] as const) {
      const result = parseJson(text)
      expect(result).toMatchObject({ _tag: "NotJson", problem: { line, column } })
      expect(JSON.stringify(result)).toContain(JSON.stringify(reason).slice(1, -1))
    }
  })

  it("is refused at any size and depth without harm", () => {
    expect(parseJson("[".repeat(1_000_000))._tag).toBe("NotJson")
    expect(parseJson(`"${"a".repeat(5_000_000)}`)._tag).toBe("NotJson")
    expect(parseJson(`[${'"\\n",'.repeat(500_000)}]`)._tag).toBe("NotJson")
  })

  it("is refused wherever JSON.parse refuses it, and only there", () => {
    const texts = ['{"a":[1,{"b":"c\\u00e9"}],"d":null,"e":-1.5e+3}']
    const parts = ['"', "\\", "{", "}", "[", "]", ",", ":", "1", "e", ".", "-", "\n", "\t", "u", ""]
    for (const text of texts) {
      for (let at = 0; at < text.length; at++) {
        for (const part of parts) {
          const changed = text.slice(0, at) + part + text.slice(at + 1)
          const result = parseJson(changed)
          if (result._tag === "NotJson") expect(result.problem.reason).not.toBe("it is not JSON")
        }
      }
    }
  })
})

describe("text for a terminal", () => {
  it("holds no control character", () => {
    expect(plain("a\u001b[31m\nb\u009b\u202e")).toBe("a\\u001b[31m\\nb\\u009b\\u202e")
    for (const mark of ["\u061c", "\u200e", "\u200f", "\u2067"]) {
      const text = `a${mark}b`
      expect(plain(text)).toMatch(/^a\\u[0-9a-f]{4}b$/)
      expect(jsonLine(text)).not.toContain(mark)
      expect(JSON.parse(jsonLine(text))).toBe(text)
    }
    const value = { "\u009b": ["\u007f\u2028", "\n"] }
    for (const text of [jsonLine(value), jsonDocument(value)]) {
      expect(text).not.toContain("\u009b")
      expect(text).not.toContain("\u007f")
      expect(JSON.parse(text)).toEqual(value)
    }
  })

  it("is a table without frames, whose cells are one line each", () => {
    expect(
      listTable(
        ["a", "b"],
        [
          ["x\ny", 1],
          [undefined, true],
        ],
      ),
    ).toBe("A     B\nx\\ny  1\n-     yes")
    expect(listTable(["a"], [["abcdef"]], 4)).toBe("A\nabc…")
    expect(fields({ one: 1, none: undefined, two: false })).toBe("one  1\ntwo  no")
  })
})

describe("times", () => {
  it("are read and written as people do", () => {
    expect(["500ms", "90s", "15m", "1h", "7d"].map(millisOf)).toEqual([
      500, 90_000, 900_000, 3_600_000, 604_800_000,
    ])
    for (const wrong of ["", "5", "-1s", "1.5h", "1w", "1 s"])
      expect(() => millisOf(wrong)).toThrow("90s")
    expect(momentOf("2026-11-29T22:30:00+01:00")).toBe(Date.UTC(2026, 10, 29, 21, 30))
    expect(momentOf("1796003221326")).toBe(1_796_003_221_326)
    const noDay = ["2026-02-30T00:00:00Z", "2027-02-29T00:00:00+01:00", "2026-04-31T10:00Z"]
    expect(momentOf("2028-02-29T00:00:00Z")).toBe(Date.UTC(2028, 1, 29))
    for (const wrong of ["tomorrow", "2026-11-29", "2026-13-29T22:30:00Z", ...noDay]) {
      expect(() => momentOf(wrong)).toThrow("2026-11-29T22:30:00Z")
    }
    expect([0, 999, 61_000, 3_600_000, 90_061_000].map(durationOf)).toEqual([
      "0s",
      "0s",
      "1m 1s",
      "1h",
      "1d 1h",
    ])
  })
})

describe("whether JSON is asked for", () => {
  it("is read as the command line is, where that has a mistake, too", () => {
    for (const args of [["--json"], ["x", "--json=true"], ["--no-json", "--json"]]) {
      expect([args, asksForJson(args)]).toEqual([args, true])
    }
    const not = [
      [],
      ["--json=false"],
      ["--json", "false"],
      ["--no-json"],
      ["search", "--", "--json"],
    ]
    for (const args of not) expect([args, asksForJson(args)]).toEqual([args, false])
  })
})

describe("progress", () => {
  const sink = (isTTY: boolean) => {
    const written: Array<string> = []
    return {
      isTTY,
      columns: 20,
      written,
      write: (text: string, done: () => void) => {
        written.push(text)
        done()
        return true
      },
    }
  }
  const saying = (stderr: ReturnType<typeof sink>, stdout = sink(false)) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.progress("Waiting for a very long time: 1s")
      yield* output.progress("Waiting: 2s")
      yield* output.print("done")
      yield* output.note("remark")
    }).pipe(Effect.provide(Layer.fresh(Output.layer({ stdout, stderr }))))

  it.effect("is shown on a terminal, on one line that is gone before anything else", () =>
    Effect.gen(function* () {
      const stderr = sink(true)
      yield* saying(stderr)
      expect(stderr.written).toEqual([
        "\r\u001b[KWaiting for a very ",
        "\r\u001b[KWaiting: 2s",
        "\r\u001b[K",
        "remark\n",
      ])
    }),
  )

  it.effect("is not shown elsewhere", () =>
    Effect.gen(function* () {
      const stderr = sink(false)
      yield* saying(stderr)
      expect(stderr.written).toEqual(["remark\n"])
    }),
  )
})
