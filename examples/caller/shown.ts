/** What a half of the caller shows, a line at a time: what it tried, and what it saw. */
export interface Shown {
  readonly tried: string
  readonly saw: string
  /** Whether that is what it should have seen. */
  readonly isRight: boolean
}

/** A line of it. */
export const shown = (tried: string, saw: unknown, isRight: boolean): Shown => ({
  tried,
  saw: typeof saw === "string" ? saw : JSON.stringify(saw),
  isRight,
})

const lineOf = (one: Shown): Uint8Array => new TextEncoder().encode(`${JSON.stringify(one)}\n`)

/** The lines as they come, as the body of an answer. */
export const answerOf = (lines: AsyncIterable<Shown>): Response => {
  const iterator = lines[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await iterator.next()
      if (done === true) controller.close()
      else controller.enqueue(lineOf(value))
    },
    cancel: async () => {
      await iterator.return?.()
    },
  })
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } })
}
