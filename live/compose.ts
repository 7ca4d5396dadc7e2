import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../config.js";
import type { Events } from "../db/contract/events.js";
import type { Store } from "../db/contract/store.js";
import type { Clock, Random } from "../db/runtime.js";
import type { Identify } from "../plugins/auth/identity.js";
import type { Guests } from "../plugins/limits/guests.js";
import { callsOf } from "./commands.js";
import { Outboxes } from "./delivery/outbox.js";
import { PushPipeline } from "./delivery/push.js";
import { dispatcher, runnables } from "./dispatch.js";
import type { LiveMetrics } from "./live-metrics.js";
import type { BoundCommands, CallEngines, Entrance, LiveModule } from "./module.js";
import { announcementModule } from "./modules/announcements/announcement-commands.js";
import { captionModule } from "./modules/captions/caption-commands.js";
import { callModule } from "./modules/calls/call-module.js";
import { chatModule } from "./modules/chat/chat.js";
import { pollModule } from "./modules/items/poll-commands.js";
import { questionModule } from "./modules/items/question-commands.js";
import { programModule } from "./modules/program/program-commands.js";
import { Reactions } from "./modules/reactions/reactions.js";
import { Crowds } from "./modules/rooms/crowds.js";
import { roomModule } from "./modules/rooms/room-commands.js";
import { RoomWatch } from "./modules/rooms/watch.js";
import { reportModule } from "./modules/reports/report-commands.js";
import { screenModule } from "./modules/screens/screen-commands.js";
import { userModule } from "./modules/users/user-commands.js";
import type { RecordPorts } from "./modules/world/records.js";
import { worldModule } from "./modules/world/world-commands.js";
import { handEntries, ownPushes } from "./order.js";
import { Attendance } from "./people/attendance.js";
import { Arrivals } from "./people/arrivals.js";
import { Hub } from "./people/hub.js";
import { logIn } from "./people/login.js";
import { Presence } from "./people/presence.js";
import { UserRateLimits } from "./people/user-rate-limits.js";
import { ActivityCounter, Snapshots } from "./people/snapshots.js";
import { type View, WorldStates } from "./rules/world-state.js";
import { Backlog } from "./socket/backlog.js";
import type { Connection } from "./socket/connection.js";
import { TICK } from "./socket/heartbeat.js";
import { FlushQueue } from "./socket/outgoing.js";
import { Sockets } from "./socket/sockets.js";

/** The inputs of the live layer. */
export interface LiveParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly events: Events;
  readonly identify: Identify;
  readonly guests: Guests;
  readonly limits: LiveLimits;
  readonly log: FastifyBaseLogger;
  readonly metrics: LiveMetrics | undefined;
  /** The server's key for push services; null or undefined if it has none. */
  readonly pushKey?: string | null;
  /** Returns what is wrong with a URL that a user submitted, or undefined if the URL is acceptable. */
  readonly addressFault?: (url: string) => Promise<string | undefined>;
  readonly sealReport: RecordPorts["sealReport"];
  /** The engines for calls; none by default. */
  readonly callEngines?: CallEngines;
}

/**
 * The live layer of one process. Only code outside the layer may depend on this type; the layer's
 * own parts never do.
 */
export type LiveLayer = ReturnType<typeof composeLive>;

/** Builds the layers and modules that serve websockets, and wires them together. */
export function composeLive(parts: LiveParts) {
  const { clock, random, store, events, limits, log, metrics } = parts;
  const reached = (world: string) => events.reached(world);

  // Connections, and the rooms their users are in.
  const sockets = new Map<string, Connection>();
  const hub = new Hub();
  // Caches are dropped when the first person joins and when the last person leaves. While a world
  // is empty, this process receives its entries only if something else follows the world, such as
  // an event stream, so the caches may miss some entries.
  const isCurrent = (world: string) => hub.in(world).size > 0 && events.isCurrent(world);
  const rates = new UserRateLimits({ clock, hub, limits });
  const snapshots = new Snapshots(events, clock);
  const activity = new ActivityCounter(clock, snapshots);
  const states = new WorldStates(
    clock,
    store,
    (id: string) => hub.in(id).size > 0,
    parts.pushKey ?? null,
  );

  // Scheduling of pushes.
  const flushQueue = new FlushQueue(clock, metrics);
  const outboxes = new Outboxes({ clock, log, flushQueue });
  const pushes = new PushPipeline({ clock, hub, states, outboxes });
  const backlog = new Backlog({
    most: limits.maxUnsentTotal,
    interval: TICK,
    onFull: (connection) => {
      metrics?.relieved();
      log.debug({ connection: connection.id }, "websocket ended for memory");
    },
  });
  const delivery = { clock, log, hub, states, outboxes, flushQueue, pushes };

  // Circular: presence notifies its watchers, which in turn query presence.
  const crowds = new Crowds({
    ...delivery,
    countIn: (world, room) => presence.countIn(world, room),
  });
  const attendance = new Attendance({
    clock,
    log,
    hub,
    store,
    numbersIn: (world) => presence.in(world),
  });
  const presence: Presence = new Presence(
    snapshots,
    new RoomWatch({
      ...delivery,
      store,
      crowds,
      connectionsOf: (world, user) => presence.connectionsOf(world, user),
      isIn: (...who) => presence.isIn(...who),
      pushToChannels: (world, user, by) => chat.readStates.tell(world, user, by ?? ""),
    }),
    attendance,
  );
  const arrivals: Arrivals = new Arrivals({
    clock,
    log,
    events,
    snapshots,
    hub,
    presence,
    states,
    modules: {
      async enter(world) {
        for (const { enter } of modules) await enter?.(world);
      },
      leave(connection) {
        for (const { leave } of modules) leave?.(connection);
      },
      forget(world) {
        for (const { forget } of modules) forget?.(world);
        outboxes.dropWhatIsOver();
      },
    },
  });

  const { callEngines = {} } = parts;
  const calls = callModule({ ...delivery, store, events, random, rates, callEngines });
  const chat = chatModule({
    ...delivery,
    store,
    limits,
    calls: calls.direct,
    presence,
    rates,
    metrics,
    activity,
    reached,
    isCurrent,
  });
  const crowdsIn = crowds.in.bind(crowds);
  const world = worldModule({
    ...delivery,
    store,
    random,
    arrivals,
    crowdsIn,
    sealReport: parts.sealReport,
    callEngines,
    keepChannels: (...args) => chat.channels.keepRights(...args),
    listAgain: (connections) => chat.readStates.listAgain(connections),
  });
  const announcements = announcementModule({ ...delivery, store, limits });
  const { forceJoins } = chat;
  const users = userModule({
    ...delivery,
    random,
    store,
    presence,
    rates,
    forceJoins,
    addressFault: parts.addressFault ?? (async () => "There is no web push."),
  });
  const reactions = new Reactions({ ...delivery, snapshots });
  const captions = captionModule({ ...delivery, store, rates });
  const rooms = roomModule({
    clock,
    store,
    rates,
    arrivals,
    presence,
    react: (...args) => reactions.add(...args),
    entered: (...args) => captions.entered(...args),
  });
  const items = { ...delivery, store, limits, rates, isCurrent };
  const questions = questionModule(items);
  const polls = pollModule({ ...items, metrics });
  const program = programModule({
    ...delivery,
    store,
    scheduled: (...args) => world.notifier.scheduled(...args),
  });
  const screens = screenModule({ ...delivery, store });
  const reports = reportModule({ ...delivery, store });
  // The order of this list determines the order of the fields in login responses and the order of
  // shutdown.
  const modules: readonly (LiveModule & { bound: BoundCommands })[] = [
    chat,
    world,
    users,
    announcements,
    rooms,
    questions,
    polls,
    program,
    calls,
    screens,
    captions,
    reports,
  ];

  const endEntries = handEntries(events, {
    activity: { "world.deleted": (event) => activity.forget(event.world) },
    world: world.onEntry,
    announcements: announcements.onEntry,
    guests: users.onEntry,
    silences: users.onModeration,
    program: program.onEntry,
    "chat.unread": chat.readStates.handlers,
    "chat.feed": chat.channels.feed.handlers,
    "chat.channels": chat.channels.handlers,
    "chat.pages": chat.pages.handlers,
    "chat.held": chat.onHeld,
    reports: reports.onEntry,
    "questions.lists": questions.lists.handlers,
    questions: questions.onEntry,
    "polls.lists": polls.lists.handlers,
    "polls.boards": polls.boards.handlers,
    polls: polls.onEntry,
    calls: calls.onEntry!,
    screens: screens.onEntry,
    captions: captions.onEntry,
    reset: { "world.reset": (event) => arrivals.reset(event.world) },
    own: ownPushes({ sockets, hub, outboxes, channels: chat.channels }),
  });

  const login = { ...parts, rates, arrivals, states, crowdsIn, forceJoins };
  const entrance = async (...who: Parameters<Entrance>) => {
    const fields: Awaited<ReturnType<Entrance>>[] = [];
    for (const { entrance } of modules) {
      if (entrance) fields.push(await entrance(...who));
    }
    return async (view: View) => {
      const all = {};
      for (const fieldsFor of fields) {
        Object.assign(all, await fieldsFor(view));
      }
      return all;
    };
  };
  const runs = runnables(
    { store, onLost: (connection) => world.notifier.notifySoon(connection) },
    modules.map(({ bound }) => bound),
  );
  const own = new Sockets({
    clock,
    random,
    log,
    limits,
    store,
    sockets,
    flushQueue,
    backlog,
    metrics,
    logIn: (connection, payload) => logIn({ ...login, entrance }, connection, payload),
    dispatch: dispatcher(
      { clock, store, states, rightsFrame: (...args) => world.notifier.frameFor(...args) },
      runs,
    ),
    hasPeople: (world) => hub.in(world).size > 0,
    leave: (connection) => arrivals.leaveWorld(connection),
    persist: (...args) => outboxes.persist(...args),
    onSlow: (id) => activity.count(id, "slowReaders"),
  });

  return {
    sockets,
    hub,
    snapshots,
    rates,
    activity,
    states,
    presence,
    crowds,
    backlog,
    outboxes,
    flushQueue,
    store,
    limits,
    chat,
    calls,
    polls,
    open: own.open.bind(own),
    refusalOf: own.refusalOf.bind(own),
    /** Runs commands for HTTP. */
    call: callsOf(store.users, runs),
    /** Drops all connections and stops all timers. Nothing is pushed after that. */
    stop(): void {
      own.close();
      endEntries();
      outboxes.close();
      attendance.stop();
      for (const { stop } of modules) stop?.();
    },
    /** Stops the layer, and persists state that is held only in memory. */
    async close(): Promise<void> {
      this.stop();
      await attendance.close();
      for (const { close } of modules) await close?.();
      // Closed last, so that other processes still receive the writes above.
      snapshots.close();
    },
  };
}
