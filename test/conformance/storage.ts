/**
 * What every storage adapter does alike. One list of facts, checked against the Node adapter in the
 * unit project and against the Durable Object's in the workerd project; each gets a fresh database.
 */
import { expect } from "vitest"
import { type ObjectStorage, type SqlValue, StorageFailure } from "../../platform/ObjectStorage.ts"

export interface StorageFact {
  readonly title: string
  readonly check: (storage: ObjectStorage) => void | Promise<void>
}

const soon = 4_000_000_000_000

const makeTable = (storage: ObjectStorage): void =>
  storage.sql.run("CREATE TABLE facts (id INTEGER PRIMARY KEY, body ANY) STRICT")

const count = (storage: ObjectStorage): number =>
  storage.sql.all<{ n: number }>("SELECT count(*) AS n FROM facts")[0]?.n ?? -1

/** What a value comes back as, and the type that SQLite kept it under. */
const roundTrip = (storage: ObjectStorage, value: SqlValue): { body: SqlValue; kept: string } => {
  makeTable(storage)
  storage.sql.run("INSERT INTO facts VALUES (1, ?)", value)
  const [row] = storage.sql.all<{ body: SqlValue; kept: string }>(
    "SELECT body, typeof(body) AS kept FROM facts",
  )
  if (row === undefined) throw new Error("the row is not there")
  return row
}

const returnsAsGiven = (what: string, value: SqlValue): StorageFact => ({
  title: `gives ${what} back as it was stored`,
  check: (storage) => expect(roundTrip(storage, value).body).toStrictEqual(value),
})

const refuses = (what: string, value: unknown): StorageFact => ({
  title: `refuses ${what} before it reaches the database`,
  check: (storage) => {
    makeTable(storage)
    const insert = () => storage.sql.run("INSERT INTO facts VALUES (1, ?)", value as SqlValue)
    expect(insert).toThrow(TypeError)
    expect(() => storage.sql.all("SELECT ? AS value", value as SqlValue)).toThrow(TypeError)
    expect(count(storage)).toBe(0)
  },
})

const placeholders = (length: number): string => Array.from({ length }, () => "?").join(" + ")

const bindsAtMost100 = (length: number): StorageFact => ({
  title: `${length <= 100 ? "binds" : "refuses"} ${length} parameters`,
  check: (storage) => {
    const bindings = Array.from({ length }, () => 1)
    const sum = length === 0 ? "0" : placeholders(length)
    if (length <= 100) {
      expect(storage.sql.all(`SELECT ${sum} AS n`, ...bindings)).toEqual([{ n: length }])
      return
    }
    expect(() => storage.sql.all(`SELECT ${sum} AS n`, ...bindings)).toThrow(RangeError)
    expect(() => storage.sql.run(`SELECT ${sum} AS n`, ...bindings)).toThrow(RangeError)
  },
})

const transactions: ReadonlyArray<StorageFact> = [
  {
    title: "commits rows and alarm of one transaction together",
    check: async (storage) => {
      const answer = storage.transaction(() => {
        makeTable(storage)
        storage.sql.run("INSERT INTO facts VALUES (1, 'kept')")
        storage.alarm.set(soon)
        return "answer"
      })
      expect(answer).toBe("answer")
      expect(count(storage)).toBe(1)
      expect(await storage.alarm.get()).toBe(soon)
    },
  },
  {
    title: "rolls rows and a first alarm back together when the block throws",
    check: async (storage) => {
      makeTable(storage)
      const block = () =>
        storage.transaction(() => {
          storage.sql.run("INSERT INTO facts VALUES (1, 'lost')")
          storage.alarm.set(soon)
          throw new Error("the block fails")
        })
      expect(block).toThrow("the block fails")
      expect(count(storage)).toBe(0)
      expect(await storage.alarm.get()).toBeNull()
    },
  },
  {
    title: "restores the alarm that a failed block replaced or deleted",
    check: async (storage) => {
      storage.transaction(() => storage.alarm.set(soon))
      for (const change of [() => storage.alarm.set(soon + 1), () => storage.alarm.delete()]) {
        const block = () =>
          storage.transaction(() => {
            change()
            throw new Error("the block fails")
          })
        expect(block).toThrow("the block fails")
        expect(await storage.alarm.get()).toBe(soon)
      }
    },
  },
  {
    title: "tells what the database threw from what a block threw, and from a mistaken statement",
    check: (storage) => {
      makeTable(storage)
      const own = new Error("the block fails")
      const thrownBy = (block: () => void): unknown => {
        try {
          storage.transaction(block)
        } catch (error) {
          return error
        }
        return undefined
      }
      expect(thrownBy(() => storage.sql.all("SELECT nonsense FROM facts"))).toBeInstanceOf(
        StorageFailure,
      )
      expect(
        thrownBy(() => storage.sql.run("INSERT INTO facts VALUES ('no number', 1)")),
      ).toBeInstanceOf(StorageFailure)
      expect(
        thrownBy(() => {
          throw own
        }),
      ).toBe(own)
      expect(
        thrownBy(() => storage.sql.run("INSERT INTO facts VALUES (1, ?)", Number.NaN)),
      ).not.toBeInstanceOf(StorageFailure)
      expect(count(storage)).toBe(0)
    },
  },
  {
    title: "searches full text, and rolls the index back with its block",
    check: (storage) => {
      storage.sql.run("CREATE VIRTUAL TABLE words USING fts5(body)")
      const write = (id: number, body: string) =>
        storage.sql.run("INSERT INTO words (rowid, body) VALUES (?, ?)", id, body)
      storage.transaction(() => write(7, "a red apple"))
      const failing = () =>
        storage.transaction(() => {
          write(8, "a green apple")
          throw new Error("the block fails")
        })
      expect(failing).toThrow("the block fails")
      expect(
        storage.sql.all(
          "SELECT rowid AS id, snippet(words, 0, '[', ']', '…', 8) AS found FROM words WHERE words MATCH ?",
          '"appl"*',
        ),
      ).toEqual([{ id: 7, found: "a red [apple]" }])
    },
  },
  {
    title: "works on after a block that failed on a broken statement",
    check: (storage) => {
      makeTable(storage)
      expect(() =>
        storage.transaction(() => storage.sql.run("SELECT nonsense FROM facts")),
      ).toThrow()
      storage.transaction(() => storage.sql.run("INSERT INTO facts VALUES (2, 'kept')"))
      expect(count(storage)).toBe(1)
    },
  },
]

const nesting: ReadonlyArray<StorageFact> = [
  {
    title: "refuses a transaction inside a transaction, and rolls the outer one back",
    check: (storage) => {
      makeTable(storage)
      const nested = () =>
        storage.transaction(() => {
          storage.sql.run("INSERT INTO facts VALUES (1, 'lost')")
          storage.transaction(() => undefined)
        })
      expect(nested).toThrow("do not nest")
      expect(count(storage)).toBe(0)
      storage.transaction(() => storage.sql.run("INSERT INTO facts VALUES (2, 'kept')"))
      expect(count(storage)).toBe(1)
    },
  },
  {
    title: "refuses a block that answers a promise, and rolls it back",
    check: (storage) => {
      makeTable(storage)
      const asynchronous = () =>
        storage.transaction(() => {
          storage.sql.run("INSERT INTO facts VALUES (1, 'lost')")
          return Promise.resolve()
        })
      expect(asynchronous).toThrow("must be synchronous")
      expect(count(storage)).toBe(0)
    },
  },
]

const alarms: ReadonlyArray<StorageFact> = [
  {
    title: "has no alarm until one is set, and none after it is deleted",
    check: async (storage) => {
      expect(await storage.alarm.get()).toBeNull()
      storage.alarm.set(soon)
      expect(await storage.alarm.get()).toBe(soon)
      storage.alarm.delete()
      expect(await storage.alarm.get()).toBeNull()
    },
  },
  {
    title: "keeps the last of several alarms",
    check: async (storage) => {
      storage.transaction(() => {
        storage.alarm.set(soon)
        storage.alarm.set(soon + 7)
      })
      expect(await storage.alarm.get()).toBe(soon + 7)
    },
  },
]

const values: ReadonlyArray<StorageFact> = [
  returnsAsGiven("null", null),
  returnsAsGiven("an empty text", ""),
  returnsAsGiven("text outside the basic plane", "Kettfaden 🧵 ‮ \u{10ffff}"),
  returnsAsGiven("text that looks like a number", "00123.0"),
  returnsAsGiven("text that looks like SQL", "'); DROP TABLE facts; --"),
  returnsAsGiven("zero", 0),
  returnsAsGiven("a negative integer", -42),
  returnsAsGiven("a fraction", 0.1 + 0.2),
  returnsAsGiven("the smallest double", Number.MIN_VALUE),
  returnsAsGiven("2^53 - 1", 2 ** 53 - 1),
  returnsAsGiven("-(2^53 - 1)", -(2 ** 53 - 1)),
  refuses("2^53", 2 ** 53),
  refuses("2^53 + 2", 2 ** 53 + 2),
  refuses("not-a-number", Number.NaN),
  refuses("infinity", Number.POSITIVE_INFINITY),
  refuses("true", true),
  refuses("false", false),
  refuses("undefined", undefined),
  refuses("a bigint", 1n),
  refuses("bytes", new Uint8Array([1, 2])),
  {
    title: "keeps a NUL inside a text",
    check: (storage) => expect(roundTrip(storage, "a\0b").body).toBe("a\0b"),
  },
  {
    title: "writes U+FFFD for each lone surrogate",
    check: (storage) => expect(roundTrip(storage, "a\ud800b\udc00").body).toBe("a\ufffdb\ufffd"),
  },
  {
    title: "keeps 2^53 + 1 exact as text, which is how it must travel",
    check: (storage) =>
      expect(roundTrip(storage, "9007199254740993")).toEqual({
        body: "9007199254740993",
        kept: "text",
      }),
  },
  {
    title: "gives a comparison as 0 or 1",
    check: (storage) =>
      expect(storage.sql.all("SELECT 1 = 1 AS yes, 1 = 2 AS no")).toEqual([{ yes: 1, no: 0 }]),
  },
]

const counting: ReadonlyArray<StorageFact> = [
  {
    title: "counts rows read and written, and alarm writes, without taking them back",
    check: (storage) => {
      makeTable(storage)
      const before = storage.counts()
      storage.sql.run("INSERT INTO facts VALUES (1, 'a'), (2, 'b')")
      const written = storage.counts()
      expect(written.written - before.written).toBe(2)
      storage.sql.all("SELECT * FROM facts")
      expect(storage.counts().read - written.read).toBe(2)
      storage.alarm.set(soon)
      storage.alarm.delete()
      expect(storage.counts().alarmWrites - before.alarmWrites).toBe(2)
    },
  },
  {
    title: "tells a size that grows with what is stored",
    check: (storage) => {
      makeTable(storage)
      const before = storage.databaseBytes()
      storage.sql.run("INSERT INTO facts VALUES (1, ?)", "x".repeat(256 * 1024))
      expect(storage.databaseBytes() - before).toBeGreaterThan(250 * 1024)
    },
  },
]

/** Every fact; each is to be checked on a database of its own. */
export const storageConformance: ReadonlyArray<StorageFact> = [
  ...transactions,
  ...nesting,
  ...alarms,
  ...values,
  ...[0, 1, 100, 101, 257].map(bindsAtMost100),
  ...counting,
]
