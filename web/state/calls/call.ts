import type * as Kit from "livekit-client";
import { type Readable, writable } from "svelte/store";
import type { Live } from "../../../client/index.js";
import { type CallMode, CALL_SOURCES, type CallSource } from "../../../schemas/plain/calls.js";
import { codeOf } from "../session.js";
import type { CallPlace } from "./place.js";
import type { DeviceChoice } from "./devices.js";
import type { Person, Quality } from "./tiles.js";

type Kit = typeof Kit;

/** The reason why a call has ended for this device: one of the server's codes, or one of these. */
export type CallEnd = "left" | "removed" | "ended" | "unreachable" | (string & {});

/** A call from the point of view of this device. */
export interface CallView {
  /** `lost`: the media server does not respond. The client keeps trying to reconnect. */
  readonly is: "joining" | "in" | "lost" | "over";
  readonly end?: CallEnd;
  readonly mode: CallMode;
  /** All devices. The user's own device is first. */
  readonly people: readonly Person[];
  /** What this device may publish. */
  readonly may: ReadonlySet<CallSource>;
  /** What this device publishes. */
  readonly sends: ReadonlySet<CallSource>;
  readonly moderates: boolean;
  /** Whether the browser plays sound. Some browsers wait for a user gesture. */
  readonly isAudible: boolean;
  /** The source that failed to start. */
  readonly fault?: CallSource;
  /** The source that a moderator has just muted. */
  readonly muted?: CallSource;
}

interface CallParts {
  live: Live;
  place: CallPlace;
  choice: DeviceChoice;
  /** For tests. */
  load?: () => Promise<Kit>;
  wait?: (ms: number) => Promise<void>;
}

/** Bounds of the delay between reconnection attempts, in milliseconds. */
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 10_000;

/** Time for which changes are batched, in milliseconds. */
const CHANGES_MS = 30;

/** Errors after which another attempt may succeed. */
const isPassing = (code: string | undefined): boolean =>
  code === undefined || code === "call.unavailable" || /^(client|server|protocol)\./.test(code);

const delay = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const EMPTY: CallView = {
  is: "joining",
  mode: "call",
  people: [],
  may: new Set(),
  sends: new Set(),
  moderates: false,
  isAudible: true,
};

/**
 * A connection to a call. Reconnects by itself until the user leaves, the call ends, or the server
 * refuses. As a store, it provides what the page shows.
 */
export class Call implements Readable<CallView> {
  readonly place: CallPlace;
  readonly #live: Live;
  readonly #load: () => Promise<Kit>;
  readonly #wait: (ms: number) => Promise<void>;
  readonly #store = writable<CallView>(EMPTY);
  readonly subscribe = this.#store.subscribe;
  #view = EMPTY;
  #kit: Kit | undefined;
  #room: Kit.Room | undefined;
  #choice: DeviceChoice;
  /** The sources that the user has switched on. A new connection publishes them again. */
  readonly #on = new Set<CallSource>();
  /** The elements that show video, by identity and source. */
  readonly #shown = new Map<string, Set<HTMLVideoElement>>();
  /** The elements that play sound. */
  readonly #sounds = new Set<HTMLMediaElement>();
  /** The users in the metadata of devices, which change rarely. */
  readonly #users = new WeakMap<Kit.Participant, { metadata: string; user: Person["user"] }>();
  #isPending = false;

  constructor({ live, place, choice, load, wait = delay }: CallParts) {
    this.place = place;
    this.#live = live;
    this.#choice = choice;
    this.#load = load ?? (() => import("livekit-client"));
    this.#wait = wait;
    if (choice.microphone.isOn) this.#on.add("microphone");
    if (choice.camera.isOn) this.#on.add("camera");
  }

  /** Enters the call. Resolves once the device is in the call, or the call is over. */
  async join(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#finish(codeOf(error) ?? "unreachable");
    }
  }

  leave(): void {
    this.#finish("left");
  }

  /** A moderator has ended the call. */
  ended(): void {
    this.#finish("ended");
  }

  /** Switches the user's own microphone, camera or shared screen on or off. */
  async set(source: CallSource, isOn: boolean): Promise<void> {
    if (isOn) this.#on.add(source);
    else this.#on.delete(source);
    this.#set({ muted: undefined, fault: undefined });
    await this.#apply(source);
  }

  /** Uses other devices. */
  async choose(choice: DeviceChoice): Promise<void> {
    this.#choice = choice;
    const room = this.#room;
    if (!room) return;
    const devices = [
      ["audioinput", choice.microphone.id],
      ["videoinput", choice.camera.id],
      ["audiooutput", choice.speaker],
    ] as const;
    for (const [kind, id] of devices) {
      if (id === undefined || room.getActiveDevice(kind) === id) continue;
      // Some browsers cannot select an audio output device.
      await room.switchActiveDevice(kind, id).catch(() => {});
    }
  }

  /** Starts playing sound. Call this from a user gesture's handler if the browser requires one. */
  async play(): Promise<void> {
    await this.#room?.startAudio().catch(() => {});
    this.#changed();
  }

  /**
   * Shows a video in an element. Only videos that are shown are transmitted.
   * @returns a function that stops it.
   */
  show(identity: string, source: "camera" | "screen", element: HTMLVideoElement): () => void {
    const key = `${identity} ${source}`;
    const elements = this.#shown.get(key) ?? new Set();
    this.#shown.set(key, elements.add(element));
    this.#attach();
    return () => {
      elements.delete(element);
      if (elements.size === 0) this.#shown.delete(key);
      this.#publication(identity, source)?.videoTrack?.detach(element);
      this.#attach();
    };
  }

  async #connect(): Promise<void> {
    const payload = this.place;
    const [access, kit] = await Promise.all([this.#live.call("call.join", payload), this.#load()]);
    if (this.#view.is === "over") return;
    this.#kit = kit;
    kit.setLogLevel("warn");
    const room = this.#open(kit);
    this.#set({ mode: access.mode, moderates: access.moderate });
    try {
      await room.connect(access.url, access.token, { autoSubscribe: false });
    } catch (error) {
      room.removeAllListeners();
      // The media server has no error code of its own for a full call.
      const isFull = /max.?participants|limit/i.test(String(error));
      if (isFull) return this.#finish("call.full");
      throw error;
    }
    if (this.#isOver()) {
      await room.disconnect();
      return;
    }
    this.#room = room;
    this.#set({ is: "in" });
    this.#changed();
    await Promise.all([...this.#on].filter((it) => it !== "screen").map((it) => this.#apply(it)));
  }

  #open({ Room, RoomEvent, DisconnectReason, Track }: Kit): Kit.Room {
    const { microphone, camera, speaker } = this.#choice;
    const room = new Room({
      adaptiveStream: true,
      dynacast: true,
      audioCaptureDefaults: {
        autoGainControl: true,
        echoCancellation: true,
        noiseSuppression: true,
        ...(microphone.id !== undefined && { deviceId: microphone.id }),
      },
      videoCaptureDefaults: {
        resolution: { width: 1280, height: 720, frameRate: 30 },
        ...(camera.id !== undefined && { deviceId: camera.id }),
      },
      ...(speaker !== undefined && { audioOutput: { deviceId: speaker } }),
    });
    const changed = () => this.#changed();
    for (const event of [
      RoomEvent.ParticipantConnected,
      RoomEvent.ParticipantDisconnected,
      RoomEvent.ParticipantMetadataChanged,
      RoomEvent.TrackPublished,
      RoomEvent.TrackUnpublished,
      RoomEvent.TrackUnmuted,
      RoomEvent.LocalTrackPublished,
      RoomEvent.ActiveSpeakersChanged,
      RoomEvent.ConnectionQualityChanged,
      RoomEvent.AudioPlaybackStatusChanged,
    ] as const) {
      room.on(event, changed);
    }
    room
      .on(RoomEvent.TrackSubscribed, (track) => {
        if (track.kind === Track.Kind.Audio) this.#sounds.add(track.attach());
        changed();
      })
      .on(RoomEvent.TrackUnsubscribed, (track) => {
        for (const element of track.detach()) this.#sounds.delete(element);
        changed();
      })
      .on(RoomEvent.TrackMuted, (publication, participant) => {
        const source = this.#sourceOf(publication.source);
        if (participant.isLocal && source) this.#mutedByOthers(source);
        changed();
      })
      .on(RoomEvent.LocalTrackUnpublished, (publication) => {
        // The browser's own button stops a shared screen, and losing a right stops every source.
        const source = this.#sourceOf(publication.source);
        if (source === "screen") this.#on.delete(source);
        changed();
      })
      .on(RoomEvent.ParticipantPermissionsChanged, (_, participant) => {
        if (participant.isLocal && !participant.permissions?.canPublish) this.#on.clear();
        changed();
      })
      .on(RoomEvent.Reconnecting, () => this.#set({ is: "lost" }))
      .on(RoomEvent.Reconnected, () => {
        this.#set({ is: "in" });
        changed();
      })
      .on(RoomEvent.Disconnected, (reason) => {
        if (room !== this.#room) return;
        if (reason === DisconnectReason.PARTICIPANT_REMOVED) this.#finish("removed");
        else if (reason === DisconnectReason.ROOM_DELETED) this.#finish("ended");
        else if (reason !== DisconnectReason.CLIENT_INITIATED) void this.#rejoin();
      });
    return room;
  }

  /** Retries entering until the media server responds, or the server refuses. */
  async #rejoin(): Promise<void> {
    this.#room = undefined;
    this.#set({ is: "lost", people: [] });
    for (let pause = FIRST_RETRY_MS; !this.#isOver(); pause = Math.min(2 * pause, MAX_RETRY_MS)) {
      await this.#wait(pause);
      if (this.#isOver()) return;
      try {
        return await this.#connect();
      } catch (error) {
        const code = codeOf(error);
        if (!isPassing(code) || code === "client.closed") return this.#finish(code!);
      }
    }
  }

  #isOver(): boolean {
    return this.#view.is === "over";
  }

  #finish(end: CallEnd): void {
    if (this.#isOver()) return;
    const room = this.#room;
    this.#room = undefined;
    this.#set({ is: "over", end, people: [], sends: new Set() });
    for (const element of this.#sounds) element.remove();
    this.#sounds.clear();
    void room?.disconnect().catch(() => {});
  }

  /** Switches a source to the state that the user wants, as far as the media server allows it. */
  async #apply(source: CallSource): Promise<void> {
    const me = this.#room?.localParticipant;
    if (!me) return;
    const isOn = this.#on.has(source) && this.#allowed().has(source);
    try {
      if (source === "microphone") await me.setMicrophoneEnabled(isOn);
      else if (source === "camera") await me.setCameraEnabled(isOn);
      else await me.setScreenShareEnabled(isOn, { audio: true, contentHint: "detail" });
    } catch (error) {
      this.#on.delete(source);
      // Closing the browser's dialog means that the user does not want to share a screen.
      const isCanceled = source === "screen" && (error as Error).name === "NotAllowedError";
      if (!isCanceled) this.#set({ fault: source });
    }
    this.#changed();
  }

  #mutedByOthers(source: CallSource): void {
    if (!this.#on.delete(source)) return;
    this.#set({ muted: source });
    if (source !== "microphone") void this.#apply(source);
  }

  #allowed(): Set<CallSource> {
    const { canPublish, canPublishSources = [] } = this.#room?.localParticipant.permissions ?? {};
    if (!canPublish) return new Set();
    const all = canPublishSources.length === 0;
    const numbers = { microphone: 2, camera: 1, screen: 3 };
    return new Set(
      CALL_SOURCES.filter((it) => all || canPublishSources.includes(numbers[it] as never)),
    );
  }

  /** Batches the changes of a short time. */
  #changed(): void {
    if (this.#isPending) return;
    this.#isPending = true;
    setTimeout(() => {
      this.#isPending = false;
      const room = this.#room;
      if (!room || this.#isOver()) return;
      this.#listen(room);
      this.#attach();
      const others = [...room.remoteParticipants.values()].sort(
        (a, b) => (a.joinedAt?.getTime() ?? 0) - (b.joinedAt?.getTime() ?? 0),
      );
      const people = [room.localParticipant, ...others].map((it) => this.#personOf(it));
      this.#set({
        people,
        may: this.#allowed(),
        sends: people[0]!.sends,
        isAudible: room.canPlaybackAudio,
      });
    }, CHANGES_MS);
  }

  /** Subscribes to all audio tracks. */
  #listen(room: Kit.Room): void {
    const { Track } = this.#kit!;
    for (const { trackPublications } of room.remoteParticipants.values()) {
      for (const publication of trackPublications.values()) {
        if (publication.kind === Track.Kind.Audio && !publication.isDesired) {
          publication.setSubscribed(true);
        }
      }
    }
  }

  /** Subscribes only to the videos that are shown. */
  #attach(): void {
    const room = this.#room;
    if (!room) return;
    for (const [key, elements] of this.#shown) {
      const [identity = "", source] = key.split(" ");
      const publication = this.#publication(identity, source as "camera" | "screen");
      if (!publication) continue;
      if ("setSubscribed" in publication && !publication.isDesired) publication.setSubscribed(true);
      const track = publication.videoTrack;
      for (const element of elements) {
        if (track && !track.attachedElements.includes(element)) track.attach(element);
      }
    }
    for (const { identity, trackPublications } of room.remoteParticipants.values()) {
      for (const publication of trackPublications.values()) {
        const source = this.#sourceOf(publication.source);
        if (publication.kind !== this.#kit!.Track.Kind.Video || !publication.isDesired) continue;
        if (!this.#shown.has(`${identity} ${source}`)) publication.setSubscribed(false);
      }
    }
  }

  #publication(identity: string, source: "camera" | "screen") {
    const { Source } = this.#kit!.Track;
    const of = source === "screen" ? Source.ScreenShare : Source.Camera;
    const me = this.#room?.localParticipant;
    if (me?.identity === identity) return me.getTrackPublication(of);
    return this.#room?.remoteParticipants.get(identity)?.getTrackPublication(of);
  }

  #sourceOf(source: Kit.Track.Source): CallSource | undefined {
    const { Source } = this.#kit!.Track;
    if (source === Source.ScreenShare) return "screen";
    if (source === Source.Camera) return "camera";
    return source === Source.Microphone ? "microphone" : undefined;
  }

  #personOf(participant: Kit.Participant): Person {
    const { identity, isLocal, isSpeaking, permissions } = participant;
    const sends = new Set<CallSource>();
    for (const publication of participant.trackPublications.values()) {
      const source = this.#sourceOf(publication.source);
      if (source && !publication.isMuted) sends.add(source);
    }
    return {
      identity,
      user: this.#userOf(participant),
      isMe: isLocal,
      maySpeak: permissions?.canPublish ?? false,
      isSpeaking: isSpeaking && sends.has("microphone"),
      sends,
      quality: qualities[participant.connectionQuality] ?? "unknown",
    };
  }

  #userOf(participant: Kit.Participant): Person["user"] {
    const { metadata = "" } = participant;
    const known = this.#users.get(participant);
    if (known?.metadata === metadata) return known.user;
    const user = userIn(participant);
    this.#users.set(participant, { metadata, user });
    return user;
  }

  #set(changes: { [K in keyof CallView]?: CallView[K] | undefined }): void {
    if (this.#isOver()) return;
    this.#view = { ...this.#view, ...changes };
    this.#store.set(this.#view);
  }
}

const qualities: Record<string, Quality> = {
  excellent: "good",
  good: "good",
  poor: "poor",
  lost: "lost",
};

/** Returns the public user in a device's metadata, which the server has signed. */
function userIn({ identity, name, metadata }: Kit.Participant): Person["user"] {
  const [id = ""] = identity.split(":");
  try {
    const user = JSON.parse(metadata ?? "") as Person["user"];
    if (typeof user.profile === "object") return { id, profile: user.profile };
  } catch {
    // The operator's recorders have none.
  }
  return { id, profile: { display_name: name ?? "" } };
}
