import { describe, expect, it } from "vitest"
import { withEmptyTables } from "../../platform/EmptyTables.ts"
import { openNodeStorage } from "../../platform/NodeStorage.ts"
import type { ObjectStorage } from "../../platform/ObjectStorage.ts"

const aside = new Set(["notes", "marks"])

/** A storage, and the statements that reached its database. */
const watched = () => {
  const storage = openNodeStorage()
  const run: Array<string> = []
  const watching: ObjectStorage = {
    ...storage,
    sql: {
      all: (text, ...bindings) => {
        run.push(text)
        return storage.sql.all(text, ...bindings)
      },
      run: (text, ...bindings) => {
        run.push(text)
        storage.sql.run(text, ...bindings)
      },
    },
  }
  return { storage, run, sparing: withEmptyTables(watching, aside) }
}

const makeNotes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"
const makeMarks = "CREATE TABLE marks (id INTEGER PRIMARY KEY)"
const readNotes = "SELECT text FROM notes ORDER BY id"

const withTables = () => {
  const world = watched()
  world.storage.sql.run(makeNotes)
  world.storage.sql.run(makeMarks)
  return world
}

describe("a table that holds nothing", () => {
  it("is looked into once, together with all others, and then is not read, changed or emptied", () => {
    const { run, sparing } = withTables()
    expect(sparing.sql.all(readNotes)).toEqual([])
    expect(run).toEqual([
      "SELECT EXISTS (SELECT 1 FROM notes) AS notes, EXISTS (SELECT 1 FROM marks) AS marks",
    ])
    expect(sparing.sql.all("SELECT id FROM marks WHERE id = ?", 1)).toEqual([])
    sparing.sql.run("UPDATE notes SET text = ? WHERE id = 1", "b")
    sparing.sql.run("DELETE FROM marks WHERE id = 1")
    expect(run).toHaveLength(1)
  })

  it("is known without a look when it was made just now", () => {
    const { run, sparing } = watched()
    sparing.transaction(() => {
      sparing.sql.run(makeNotes)
      sparing.sql.run(makeMarks)
    })
    expect(sparing.sql.all(readNotes)).toEqual([])
    expect(run).toEqual([makeNotes, makeMarks])
  })

  it("is read again from the first row on", () => {
    const { sparing } = withTables()
    expect(sparing.sql.all(readNotes)).toEqual([])
    sparing.sql.run("INSERT INTO notes (text) VALUES (?)", "a")
    expect(sparing.sql.all(readNotes)).toEqual([{ text: "a" }])
    sparing.sql.run("DELETE FROM notes")
    expect(sparing.sql.all(readNotes)).toEqual([])
  })

  it("is still counted, and takes part in what is asked of several tables", () => {
    const { sparing } = withTables()
    expect(sparing.sql.all(readNotes)).toEqual([])
    expect(sparing.sql.all("SELECT count(*) AS count FROM notes")).toEqual([{ count: 0 }])
    expect(sparing.sql.all("SELECT min(id) AS first FROM notes")).toEqual([{ first: null }])
    sparing.sql.run("INSERT INTO marks (id) VALUES (1)")
    const both = "SELECT m.id, n.text FROM marks m LEFT JOIN notes n ON n.id = m.id"
    expect(sparing.sql.all(both)).toEqual([{ id: 1, text: null }])
    sparing.sql.run("INSERT INTO notes (text) SELECT 'of a mark' FROM marks")
    expect(sparing.sql.all(readNotes)).toEqual([{ text: "of a mark" }])
  })
})

describe("a transaction that throws", () => {
  const failing = (sparing: ObjectStorage, work: () => void) =>
    expect(() =>
      sparing.transaction(() => {
        work()
        throw new Error("it broke")
      }),
    ).toThrow("it broke")

  it("takes what it emptied back, and what was known of it", () => {
    const { sparing } = withTables()
    sparing.sql.run("INSERT INTO notes (text) VALUES (?)", "a")
    failing(sparing, () => {
      sparing.sql.run("DELETE FROM notes")
      expect(sparing.sql.all(readNotes)).toEqual([])
    })
    expect(sparing.sql.all(readNotes)).toEqual([{ text: "a" }])
  })

  it("has a table that it made looked for again", () => {
    const { sparing } = watched()
    failing(sparing, () => {
      sparing.sql.run(makeNotes)
      sparing.sql.run(makeMarks)
      expect(sparing.sql.all(readNotes)).toEqual([])
    })
    expect(() => sparing.sql.all(readNotes)).toThrow("the storage failed")
  })

  it("has a look that it made in an emptied table made again", () => {
    const { sparing, storage } = withTables()
    storage.sql.run("INSERT INTO notes (text) VALUES (?)", "a")
    failing(sparing, () => {
      storage.sql.run("DELETE FROM notes")
      expect(sparing.sql.all(readNotes)).toEqual([])
    })
    expect(sparing.sql.all(readNotes)).toEqual([{ text: "a" }])
  })
})
