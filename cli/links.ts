import type { Config } from "../config.js";
import { Failure } from "../schemas/plain/failure.js";

/**
 * The address where clients find the server of a configuration.
 * @throws {Failure} if only the running server knows it.
 */
export function addressIn({ publicUrl, host, port }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  if (port === 0) {
    throw new Failure("PORT is 0, so only the server knows its port; set PUBLIC_URL");
  }
  // "Every interface" is no address that a client could use.
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? "localhost" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
