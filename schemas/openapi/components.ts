import {
  ImportedProgram,
  ProgramDraft,
  ScheduleDocument,
  WholeProgram,
} from "../program/program-import.js";
import type { TSchema } from "@sinclair/typebox";
import {
  Announcement,
  AnnouncementChanges,
  AnnouncementDraft,
  AnnouncementList,
} from "../announcements.js";
import { Activity, ResultsList } from "../results/results.js";
import { AuditEntry, AuditList } from "../audit.js";
import { Faults, Problem } from "../errors.js";
import { FeedAuthor, FeedEntry, FeedPage } from "../feed.js";
import { feedData } from "../feed-data.js";
import { File, FileList, FileProblem, Upload, UploadForm } from "../files.js";
import { Poll, PollList, Question, QuestionList } from "../items.js";
import { Message, MessageDraft, MessageList } from "../messages.js";
import { SignInProvider, TokenIssuer } from "../issuers.js";
import { Module, Room, RoomChanges, RoomDraft, RoomList } from "../rooms.js";
import {
  Session,
  SessionChanges,
  SessionDraft,
  SessionList,
  Speaker,
  SpeakerChanges,
  SpeakerDraft,
  SpeakerList,
  WrittenSession,
} from "../program/program.js";
import { PermissionConfig, Rule, Role } from "../rules.js";
import { ListedWorld, NewWorld, SetUp, SetupDraft, WorldDraft, WorldList } from "../servers.js";
import { Token, TokenDraft } from "../tokens.js";
import {
  ModeratedUser,
  User,
  NamedUserChanges,
  UserChanges,
  UserList,
  UserName,
} from "../users.js";
import {
  Webhook,
  WebhookChanges,
  WebhookDraft,
  WebhookList,
  WebhookPosition,
  WebhookTest,
} from "../webhooks.js";
import { ScheduleUpdate, World, WorldChanges, WorldKey } from "../worlds.js";

/** The named schemas, which others refer to in code and in the OpenAPI document. */
export const components: readonly TSchema[] = [
  World,
  WorldChanges,
  ScheduleUpdate,
  WorldKey,
  TokenIssuer,
  Role,
  SignInProvider,
  Room,
  RoomDraft,
  RoomChanges,
  RoomList,
  Module,
  Session,
  SessionDraft,
  SessionChanges,
  SessionList,
  WrittenSession,
  Speaker,
  SpeakerDraft,
  SpeakerChanges,
  SpeakerList,
  WholeProgram,
  ProgramDraft,
  ScheduleDocument,
  ImportedProgram,
  PermissionConfig,
  Rule,
  User,
  UserList,
  UserName,
  NamedUserChanges,
  UserChanges,
  ModeratedUser,
  Announcement,
  AnnouncementDraft,
  AnnouncementChanges,
  AnnouncementList,
  Message,
  MessageDraft,
  MessageList,
  Question,
  QuestionList,
  Poll,
  PollList,
  ResultsList,
  Token,
  TokenDraft,
  SetupDraft,
  SetUp,
  WorldDraft,
  NewWorld,
  ListedWorld,
  WorldList,
  Activity,
  FeedAuthor,
  ...Object.values(feedData),
  FeedEntry,
  FeedPage,
  AuditEntry,
  AuditList,
  Webhook,
  WebhookDraft,
  WebhookChanges,
  WebhookList,
  WebhookPosition,
  WebhookTest,
  File,
  FileList,
  Upload,
  UploadForm,
  FileProblem,
  Problem,
  Faults,
];
