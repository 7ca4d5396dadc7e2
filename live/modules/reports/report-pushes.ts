import type { OpenReports } from "../../../db/domains/reports.js";
import type { Store } from "../../../db/contract/store.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { PushPipeline } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import { mayInWorld } from "../../rules/rights.js";
import type { View } from "../../rules/world-state.js";
import { pushFrame } from "../../socket/frame.js";

/** Minimum interval between pushes of the number of open reports, in milliseconds. */
const PUSH_INTERVAL_MS = 300;

/** Ports of the pushes about reports. */
export interface ReportPushPorts {
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
  readonly store: { readonly reports: Store["reports"] };
}

const moderates = (view: View, room: string | null): boolean =>
  room === null
    ? mayInWorld(view.who, "chat.moderate", view.state.world.value)
    : view.may("chat.moderate", room);

/** Whether a view's users may handle any reports. */
const isModerators = (view: View): boolean =>
  moderates(view, null) || view.rooms.some((room) => view.may("chat.moderate", room));

/**
 * Returns the number of open reports that a moderator may handle. Reports about the moderator are
 * not counted.
 */
export function openFor(view: View, user: string, { all, about }: OpenReports): number {
  let count = 0;
  for (const one of all) if (moderates(view, one.room)) count += one.count;
  for (const one of about) {
    if (one.user === user && moderates(view, one.room)) count -= one.count;
  }
  return count;
}

/** Returns the handlers that push the number of open reports to moderators. */
export function reportPushes({ outboxes, pushes, store }: ReportPushPorts): EntryHandlers {
  /**
   * @param always whether to push even if all open reports are about rooms.
   */
  const tell = (world: string, always: boolean) => {
    const push = () =>
      pushes.push({ world }, async (send) => {
        const moderators = new Set<string>();
        await send(({ login }, view) => {
          if (isModerators(view)) moderators.add(login!.user);
          return undefined;
        });
        if (moderators.size === 0) return;
        const open = await store.reports.open(world, [...moderators]);
        if (!always && open.all.every(({ room }) => room !== null)) return;
        await send(({ login }, view) =>
          isModerators(view)
            ? pushFrame("report.changed", { open: openFor(view, login!.user, open) })
            : undefined,
        );
      });
    outboxes.at(world).later(always ? "reports" : "reports.moved", push, {
      interval: PUSH_INTERVAL_MS,
      collects: true,
    });
  };
  const changed = ({ world }: { world: string }) => tell(world, true);
  // The world's moderators handle the open reports of a deleted room, as these reports then belong
  // to no room.
  const moved = ({ world }: { world: string }) => tell(world, false);
  return {
    "report.created": changed,
    "report.resolved": changed,
    "room.deleted": moved,
  };
}
