/**
 * The operators' console: static files behind `/console/`, out of the assets binding of the deployment.
 *
 * The files are as public as `/health`: nothing of a deployment is in them, and what they show comes over `/rpc` with the
 * token that somebody gives them.
 *
 * - K1 Every answer below `/console` has the security headers, whatever the assets say of themselves: the page loads nothing
 *   from elsewhere, runs no text as code, stands in no frame and sends its address to nobody.
 * - K2 Nothing of the request but its path and what a cache needs reaches the assets.
 */
import { nothingHere, refusal } from "./HttpAnswer.ts"

/** A binding to static assets, as a wrangler configuration makes it. */
export interface ConsoleAssets {
  readonly fetch: (request: Request) => Promise<Response>
}

/** What is bound, if it is static assets. */
export const assetsOf = (bound: unknown): ConsoleAssets | undefined =>
  typeof bound === "object" && bound !== null && "fetch" in bound
    ? (bound as ConsoleAssets)
    : undefined

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

/** What a browser is told about each file of the console. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

const root = "/console/"

/** Whether the path is the console's. */
export const isConsole = (pathname: string): boolean =>
  pathname === "/console" || pathname.startsWith(root)

const notConfigured = `This deployment has no console. To serve it, add to the Worker's wrangler.toml

  [assets]
  directory = "node_modules/heddle/dist/console"
  binding = "ASSETS"
  run_worker_first = ["/console", "/console/*"]

and deploy again. In a clone of Heddle: npm run build first, and directory = "dist/console".
`

/** With the security headers over whatever the response says. // K1 */
const secured = (response: Response): Response => {
  for (const [name, value] of Object.entries(securityHeaders)) response.headers.set(name, value)
  return response
}

/** The names of built files change with what is in them. */
const cacheControl = (pathname: string): string =>
  pathname.startsWith(`${root}assets/`) ? "public, max-age=31536000, immutable" : "no-cache"

const keptHeaders = ["content-type", "etag", "location"]

/** What is asked of the assets: the path, and what the browser has already. // K2 */
const assetRequest = (request: Request, pathname: string): Request => {
  const known = request.headers.get("if-none-match")
  return new Request(new URL(pathname, request.url), {
    method: request.method,
    redirect: "manual",
    headers: known === null ? {} : { "if-none-match": known },
  })
}

const served = async (
  request: Request,
  pathname: string,
  assets: ConsoleAssets,
): Promise<Response> => {
  const asset = await assets.fetch(assetRequest(request, pathname))
  if (asset.status >= 400) {
    await asset.body?.cancel()
    return pathname === root ? new Response(notConfigured, { status: 404 }) : nothingHere()
  }
  const headers = new Headers({ "cache-control": cacheControl(pathname) })
  for (const name of keptHeaders) {
    const value = asset.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  return new Response(asset.body, { status: asset.status, headers })
}

/** The answer to a request below `/console`; `broken` is the one where the assets fail. */
export const consoleRoute = async (
  request: Request,
  pathname: string,
  assets: ConsoleAssets | undefined,
  broken: (error: unknown) => Promise<Response>,
): Promise<Response> => {
  if (request.method !== "GET" && request.method !== "HEAD")
    return secured(refusal(405, "Use GET", { allow: "GET, HEAD" }))
  if (assets === undefined) return secured(new Response(notConfigured, { status: 404 }))
  if (pathname !== root.slice(0, -1)) {
    return secured(await served(request, pathname, assets).catch(broken))
  }
  // Relative to whatever the deployment is called.
  return secured(new Response(null, { status: 308, headers: { location: root } }))
}
