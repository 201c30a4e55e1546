import { describe, expect, it } from "vitest"
import { type AsideTables, lookingAside, withAsideTables } from "../../platform/AsideTables.ts"
import { openNodeStorage } from "../../platform/NodeStorage.ts"
import type { ObjectStorage } from "../../platform/ObjectStorage.ts"

const makeNotes = `CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  text TEXT
)`
const indexNotes = "CREATE INDEX noteTexts ON notes (text)"
const makeMarks = `CREATE TABLE marks (
  id INTEGER PRIMARY KEY
)`

const aside: AsideTables = {
  statements: new Map([
    ["notes", [makeNotes, indexNotes]],
    ["marks", [makeMarks]],
  ]),
  made: (sql) => new Set(sql.all<{ name: string }>("SELECT name FROM made").map((row) => row.name)),
  note: (sql, name) => sql.run("INSERT INTO made (name) VALUES (?)", name),
}

/** A storage, and the statements that reached its database. */
const makeStorage = () => {
  const own = openNodeStorage()
  own.sql.run("CREATE TABLE made (name TEXT PRIMARY KEY) WITHOUT ROWID")
  own.sql.run("CREATE TABLE things (id INTEGER PRIMARY KEY, note INTEGER)")
  own.sql.run("INSERT INTO things (id, note) VALUES (1, 7)")
  const run: Array<string> = []
  const watching: ObjectStorage = {
    ...own,
    sql: {
      all: (text, ...bindings) => {
        run.push(text)
        return own.sql.all(text, ...bindings)
      },
      run: (text, ...bindings) => {
        run.push(text)
        own.sql.run(text, ...bindings)
      },
    },
  }
  const withAside = withAsideTables(aside)
  const tables = () =>
    own.sql
      .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE name IN ('notes', 'marks')")
      .map(({ name }) => name)
  return { own, run, tables, storage: withAside(watching), again: () => withAside(own) }
}

const readNotes = "SELECT text FROM notes ORDER BY id"
const writeNote = "INSERT INTO notes (text) VALUES (?)"

describe("a table that nobody has put anything into", () => {
  it("is not there, and reads as one without rows, whatever is asked", () => {
    const { storage, tables } = makeStorage()
    const { sql } = storage
    expect(sql.all(readNotes)).toEqual([])
    expect(sql.all("SELECT count(*) AS count FROM notes")).toEqual([{ count: 0 }])
    expect(sql.all("SELECT min(id) AS first FROM notes")).toEqual([{ first: null }])
    const joined = "SELECT t.id, n.text FROM things t LEFT JOIN notes n ON n.id = t.note"
    expect(sql.all(joined)).toEqual([{ id: 1, text: null }])
    const without = `SELECT id FROM things t
      WHERE NOT EXISTS (SELECT 1 FROM notes WHERE notes.id = t.note) AND id NOT IN (SELECT id FROM marks)`
    expect(sql.all(without)).toEqual([{ id: 1 }])
    sql.run("UPDATE notes SET text = 'b' WHERE id = 1")
    sql.run("DELETE FROM notes WHERE id = 1")
    sql.run("UPDATE things SET note = 8 WHERE note IN (SELECT id FROM notes)")
    sql.run("INSERT INTO things (id, note) SELECT 2, id FROM notes")
    expect(sql.all("SELECT id, note FROM things")).toEqual([{ id: 1, note: 7 }])
    expect(tables()).toEqual([])
  })

  it("costs no statement but the look of its object for what was made", () => {
    const { run, storage } = makeStorage()
    storage.sql.all(readNotes)
    storage.sql.all(readNotes)
    storage.sql.run("DELETE FROM marks WHERE id = ?", 1)
    expect(run).toEqual(["SELECT name FROM made"])
  })
})

describe("the first row of a table", () => {
  it("makes it with its indices, notes that, and is there for this object and the next", () => {
    const { again, run, storage, tables } = makeStorage()
    storage.transaction(() => storage.sql.run(writeNote, "a"))
    expect(run.slice(1)).toEqual([
      makeNotes,
      indexNotes,
      "INSERT INTO made (name) VALUES (?)",
      writeNote,
    ])
    expect(tables()).toEqual(["notes"])
    expect(storage.sql.all(readNotes)).toEqual([{ text: "a" }])
    expect(again().sql.all(readNotes)).toEqual([{ text: "a" }])
    again().sql.run(writeNote, "b")
    expect(storage.sql.all(readNotes)).toEqual([{ text: "a" }, { text: "b" }])
  })

  it("goes with the transaction that throws, and so does its table", () => {
    const { storage, tables } = makeStorage()
    expect(() =>
      storage.transaction(() => {
        storage.sql.run(writeNote, "a")
        throw new Error("it broke")
      }),
    ).toThrow("it broke")
    expect(tables()).toEqual([])
    expect(storage.sql.all(readNotes)).toEqual([])
    storage.sql.run(writeNote, "b")
    expect(storage.sql.all(readNotes)).toEqual([{ text: "b" }])
  })
})

describe("a table that was made and is empty", () => {
  const emptied = () => {
    const world = makeStorage()
    world.storage.sql.run(writeNote, "a")
    world.own.sql.run("DELETE FROM notes")
    return { ...world, next: world.again() }
  }

  it("is looked into once, and then not read, changed or emptied until something is put into it", () => {
    const { next, own } = emptied()
    const looks: Array<string> = []
    const { all } = own.sql
    Object.assign(own.sql, {
      all: (text: string, ...bindings: Array<never>) => {
        looks.push(text)
        return all(text, ...bindings)
      },
    })
    expect(next.sql.all(readNotes)).toEqual([])
    next.sql.run("DELETE FROM notes WHERE id = 1")
    expect(looks).toEqual(["SELECT name FROM made", "SELECT EXISTS (SELECT 1 FROM notes) AS notes"])
    next.sql.run(writeNote, "b")
    expect(next.sql.all(readNotes)).toEqual([{ text: "b" }])
  })

  it("is looked into again after a transaction that throws: what it had emptied is back", () => {
    const { again, storage } = makeStorage()
    storage.sql.run(writeNote, "a")
    const next = again()
    expect(() =>
      next.transaction(() => {
        storage.sql.run("DELETE FROM notes")
        expect(next.sql.all(readNotes)).toEqual([])
        throw new Error("it broke")
      }),
    ).toThrow("it broke")
    expect(next.sql.all(readNotes)).toEqual([{ text: "a" }])
  })
})

describe("a look from outside", () => {
  it("finds nothing in what was not made, and remembers nothing", () => {
    const { own, storage } = makeStorage()
    const outside = lookingAside(aside)(own.sql)
    expect(outside.all(readNotes)).toEqual([])
    storage.sql.run(writeNote, "a")
    expect(outside.all(readNotes)).toEqual([{ text: "a" }])
  })
})
