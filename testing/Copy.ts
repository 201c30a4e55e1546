/** A copy as a wire makes it: plain JSON data, nothing shared, and anything else refused. */

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Copies JSON; `undefined` may stand for an absent value. Throws on what no wire carries. */
export const copyJson = <A>(value: A): A => copied(value, "message") as A

/** A key of JSON may be `__proto__`, which an assignment would not make one. */
const put = (copy: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== "__proto__") copy[key] = value
  else
    Object.defineProperty(copy, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    })
}

const copied = (value: unknown, path: string): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value
    case "number":
      if (Number.isFinite(value)) return value
      break
    case "object": {
      if (value === null) return null
      if (Array.isArray(value)) return value.map((item) => copied(item, path))
      if (!isPlain(value)) break
      const copy: Record<string, unknown> = {}
      for (const key of Object.keys(value))
        put(copy, key, copied((value as Record<string, unknown>)[key], key))
      return copy
    }
    default:
  }
  throw new TypeError(`DataCloneError: ${path} is not JSON and could not be cloned`)
}
