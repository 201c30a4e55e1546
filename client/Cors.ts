/**
 * Which sites' pages may call from a browser: none, unless the deployment lists them.
 *
 * - C1 An origin is allowed by name. There is no wildcard, and no credentials of a browser: a page brings its token.
 * - C2 What a page may read, it may read of refusals too; what is not listed gets no word of CORS.
 */

/** The origins as a browser writes them; throws with what is wrong. */
export const checkOrigins = (origins: ReadonlyArray<string>): ReadonlySet<string> => {
  for (const origin of origins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin
    if (!isOrigin || !/^https?:\/\/[^*]+$/.test(origin)) {
      throw new TypeError(`"${origin}" is no origin: write it as in "https://app.example.com"`) // C1
    }
  }
  return new Set(origins)
}

/** How long a browser may go without asking again. */
const preflightSeconds = 600

const listed = (request: Request, origins: ReadonlySet<string>): string | undefined => {
  const origin = request.headers.get("origin")
  return origin !== null && origins.has(origin) ? origin : undefined // C1
}

/** The answer to a browser that asks whether a listed page may post; undefined to any other. */
export const preflight = (request: Request, origins: ReadonlySet<string>): Response | undefined => {
  const asked = request.headers.get("access-control-request-method")
  if (request.method !== "OPTIONS" || asked !== "POST") return undefined
  if (listed(request, origins) === undefined) return undefined
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization, content-type",
      "access-control-max-age": String(preflightSeconds),
    },
  })
}

/** The answer with what lets a listed page read it. */
export const readable = (
  request: Request,
  origins: ReadonlySet<string>,
  response: Response,
): Response => {
  if (origins.size === 0) return response
  response.headers.append("vary", "origin")
  const origin = listed(request, origins)
  if (origin !== undefined) {
    response.headers.set("access-control-allow-origin", origin) // C2
    response.headers.set("access-control-expose-headers", "retry-after, www-authenticate")
  }
  return response
}
