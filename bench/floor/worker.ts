/**
 * The floor: bare Durable Objects that do the same job by hand, with no framework and no schema.
 *
 * The same promises are kept as far as they cost something: an input is accepted once per key and durable before its
 * receipt leaves, its thread is in its owner's table before that, one alarm drives all threads, inputs of a thread run in
 * order and many threads at once, and each has one settlement, written before its owner goes on.
 *
 * An owner called `best.…` takes up to eight inputs of a thread a turn and keeps the order of threads in memory, so that
 * only their membership is durable; any other takes one a turn, and their order is durable.
 */
import { DurableObject } from "cloudflare:workers"
import { control, countSettled, whileHeld } from "../Control.ts"
import { Bare } from "../Bare.ts"

interface Env {
  readonly FLOOR_OWNERS: DurableObjectNamespace<FloorOwner>
  readonly FLOOR_THREADS: DurableObjectNamespace<FloorThread>
  readonly BARE: DurableObjectNamespace<Bare>
}

export { Bare }

export interface FloorItem {
  readonly thread: string
  readonly key: string
  readonly input: unknown
}

const slots = 8
const headsPerTurn = 8

interface TurnEnd {
  readonly more: boolean
}

/** An input of a thread: what its agent would do with it. */
const handle = async (input: unknown): Promise<unknown> => {
  const waitMillis = (input as { waitMillis?: number } | null)?.waitMillis
  if (waitMillis !== undefined) await new Promise((resolve) => setTimeout(resolve, waitMillis))
  return null
}

export class FloorThread extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS submissions (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
         input TEXT NOT NULL, outcome TEXT, settledAt INTEGER)`,
    )
  }

  admit(key: string, input: unknown): { readonly sequence: number } {
    const { sql } = this.ctx.storage
    const known = sql
      .exec<{ sequence: number }>("SELECT sequence FROM submissions WHERE key = ?", key)
      .toArray()[0]
    if (known !== undefined) return known
    const [row] = sql
      .exec<{ sequence: number }>(
        "INSERT INTO submissions (key, input) VALUES (?, ?) RETURNING sequence",
        key,
        JSON.stringify(input),
      )
      .toArray()
    return { sequence: row?.sequence ?? 0 }
  }

  #settledTo = 0

  #head() {
    return this.ctx.storage.sql
      .exec<{ sequence: number; input: string }>(
        `SELECT sequence, input FROM submissions WHERE sequence > ? AND outcome IS NULL
         ORDER BY sequence LIMIT 1`,
        this.#settledTo,
      )
      .toArray()[0]
  }

  /** Runs up to so many inputs, and tells whether there are more. */
  async turn(heads: number): Promise<TurnEnd> {
    for (let done = 0; done < heads; done++) {
      const head = this.#head()
      if (head === undefined) return { more: false }
      const output = await handle(JSON.parse(head.input))
      this.ctx.storage.sql.exec(
        "UPDATE submissions SET outcome = ?, settledAt = ? WHERE sequence = ?",
        JSON.stringify(output),
        Date.now(),
        head.sequence,
      )
      this.#settledTo = head.sequence
      countSettled()
    }
    return { more: this.#head() !== undefined }
  }
}

export class FloorOwner extends DurableObject<Env> {
  readonly #best = this.ctx.id.name?.startsWith("best.") === true
  #ticket = 0

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    const { sql } = ctx.storage
    sql.exec("CREATE TABLE IF NOT EXISTS due (thread TEXT PRIMARY KEY, ticket INTEGER NOT NULL)")
    if (!this.#best) sql.exec("CREATE INDEX IF NOT EXISTS dueByTicket ON due (ticket)")
    const [last] = sql
      .exec<{ last: number | null }>("SELECT max(ticket) AS last FROM due")
      .toArray()
    this.#ticket = last?.last ?? 0
  }

  #thread(thread: string) {
    return this.env.FLOOR_THREADS.getByName(`${this.ctx.id.name}/${thread}`)
  }

  async submit({ input, key, thread }: FloorItem): Promise<{ readonly sequence: number }> {
    const { sql } = this.ctx.storage
    this.#ticket += 1
    sql.exec("INSERT OR IGNORE INTO due (thread, ticket) VALUES (?, ?)", thread, this.#ticket)
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now())
    const receipt = await this.#thread(thread).admit(key, input)
    this.#admitted.add(thread)
    return receipt
  }

  /** Threads that were given something since their last turn began: their row stays. */
  readonly #admitted = new Set<string>()

  override async alarm(): Promise<void> {
    await whileHeld()
    if (this.#best) await this.#inMemory()
    else await this.#byTicket()
  }

  async #turn(thread: string, heads: number): Promise<boolean> {
    this.#admitted.delete(thread)
    const { more } = await this.#thread(thread).turn(heads)
    return more || this.#admitted.has(thread)
  }

  /** Eight at once in the order of memory; only who is due is durable. */
  async #inMemory(): Promise<void> {
    const { sql } = this.ctx.storage
    const order = sql
      .exec<{ thread: string }>("SELECT thread FROM due ORDER BY ticket")
      .toArray()
      .map(({ thread }) => thread)
    const worker = async () => {
      for (let thread = order.shift(); thread !== undefined; thread = order.shift()) {
        if (await this.#turn(thread, headsPerTurn)) order.push(thread)
        else sql.exec("DELETE FROM due WHERE thread = ?", thread)
      }
    }
    await Promise.all(Array.from({ length: slots }, worker))
    const [left] = sql.exec<{ thread: string }>("SELECT thread FROM due LIMIT 1").toArray()
    if (left !== undefined) await this.ctx.storage.setAlarm(Date.now())
  }

  /** Eight at once, each with the smallest ticket of the table; who has more gets a new one. */
  async #byTicket(): Promise<void> {
    const { sql } = this.ctx.storage
    const running = new Map<string, Promise<void>>()
    const start = (thread: string) => {
      const turn = this.#turn(thread, 1).then((more) => {
        this.#ticket += 1
        if (more) sql.exec("UPDATE due SET ticket = ? WHERE thread = ?", this.#ticket, thread)
        else sql.exec("DELETE FROM due WHERE thread = ?", thread)
        running.delete(thread)
      })
      running.set(thread, turn)
    }
    while (true) {
      const rows = sql
        .exec<{ thread: string }>(
          "SELECT thread FROM due ORDER BY ticket LIMIT ?",
          slots + running.size,
        )
        .toArray()
      for (const { thread } of rows) if (running.size < slots && !running.has(thread)) start(thread)
      if (running.size === 0) return
      await Promise.race(running.values())
    }
  }
}

const submitAll = async (env: Env, owner: string, items: ReadonlyArray<FloorItem>) => {
  const stub = env.FLOOR_OWNERS.getByName(owner)
  const receipts = await Promise.all(items.map((item) => stub.submit(item)))
  return Response.json(receipts)
}

export default {
  fetch: async (request: Request, env: Env): Promise<Response> => {
    const url = new URL(request.url)
    const owner = url.searchParams.get("owner") ?? ""
    if (url.pathname === "/submit") return submitAll(env, owner, await request.json())
    if (url.pathname === "/bare") {
      const bare = env.BARE.getByName(owner)
      return Response.json(await bare.status())
    }
    return (await control(url)) ?? new Response("not found", { status: 404 })
  },
}
