import { CALL_ENGINES, CALL_MODULES, type CallEngineName } from "../../../schemas/plain/calls.js";
import type { Session } from "../session.js";

/** Returns the engine of a module; undefined if the module is not a call. */
export const engineFor = (type: string): CallEngineName | undefined =>
  CALL_ENGINES.find((engine) => CALL_MODULES[engine] === type);

/** Returns the engines of the server; undefined if the user may not know them. */
export async function enginesOf({
  api,
  live,
}: Pick<Session, "api" | "live">): Promise<readonly CallEngineName[] | undefined> {
  try {
    const answer = await api.request("GET", "/call-engines/");
    return ((await answer.json()) as { results: CallEngineName[] }).results;
  } catch {
    // Hosts may edit settings without access to the API.
    return live.call("world.config.get", {}).then(
      ({ call_engines }) => call_engines,
      () => undefined,
    );
  }
}
