import type { ProgramLinkStore } from "../../../db/contract/program-links.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { Context } from "../../context.js";

/** The port of the command for the address of the calendar. */
export interface LinkPorts {
  readonly store: { readonly programLinks: ProgramLinkStore };
}

/** Where calendar programs find the program as the caller may see it. */
export async function link(
  { ports, connection, me }: Context<LinkPorts>,
  { renew = false }: Commands["program.link"]["payload"],
): Promise<Commands["program.link"]["result"]> {
  const token = await ports.store.programLinks.link(
    connection.world,
    me.id,
    renew,
    connection.author,
  );
  const path = `/w/${encodeURIComponent(connection.world)}/program.ics`;
  return { url: `${connection.base}${path}?token=${token}` };
}
