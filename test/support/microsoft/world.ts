import { DeltaTokens } from './graph/delta-tokens.ts';
import { Directory, type StubUser } from './directory/directory.ts';
import { MailboxQuotas } from './graph/quota.ts';
import type { MeetingMail } from './calendar/meetings.ts';
import type { Recipient } from './mail/message.ts';
import type { UploadSession } from './mail/upload-sessions.ts';
import { TokenStore } from './oauth/token-store.ts';
import { defaultSettings, type StubSettings } from './settings.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';

/** A message that the stub has accepted for sending. */
export interface SentMessage {
  /** Address of the mailbox that sent it. */
  sender: string;
  /** Address in From. */
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  internetMessageId: string;
  /** As recipients get it: without Bcc. */
  mime: Buffer;
  /** Addresses that are no users of the stub. */
  outside: string[];
}

/** All state of one stub, shared by the handlers of its requests. */
export class World {
  readonly settings: StubSettings;
  readonly now: () => number;
  readonly directory: Directory;
  readonly tokens: TokenStore;
  readonly quotas: MailboxQuotas;
  readonly subscriptions: Subscriptions;
  /** Unfinished uploads of attachments, by the token of their address. */
  readonly uploads = new Map<string, UploadSession>();
  readonly deltas: DeltaTokens;
  /** All messages accepted for sending, in order. */
  readonly sent: SentMessage[] = [];
  /** For each Message-ID that Exchange has assigned: the one that the client had given. */
  readonly replacedIds = new Map<string, string>();
  /** Invitations, cancellations and answers that Exchange sent by itself. */
  readonly meetingMails: MeetingMail[] = [];
  /** Requests and answers that the real service would not have made like this. */
  readonly violations: string[];
  /** http://127.0.0.1:port; empty until the stub listens. */
  origin = '';
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(now: () => number, violations: string[], settings: Partial<StubSettings> = {}) {
    this.violations = violations;
    this.now = now;
    this.settings = { ...defaultSettings(), ...settings };
    this.deltas = new DeltaTokens(this.settings, now);
    this.directory = new Directory(now);
    this.tokens = new TokenStore(this.settings, now);
    this.quotas = new MailboxQuotas(this.settings, now);
    this.subscriptions = new Subscriptions(this.settings, now, (ms, action) =>
      this.later(ms, action),
    );
    this.directory.onChange = (user, change) => this.subscriptions.changed(user, change);
  }

  /** Runs `action` after `ms`, at once for 0. */
  later(ms: number, action: () => void): void {
    if (ms <= 0) {
      action();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }

  /** Drops what is still to happen. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /** The user's name and address as they stand in messages. */
  personOf(user: StubUser): Recipient {
    return { name: user.displayName, address: user.email };
  }
}
