import { Injectable } from '@nestjs/common';
import { storable } from '../../platform/base/text/storable.ts';
import {
  MessageParser,
  type ParsableContent,
  type ReadMessage,
} from '../../mail/parsing/message-parser.ts';
import { type ParsedMessage, UNREADABLE } from '../../mail/parsing/mime-parser.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';
import type { ReadFailure } from '../failures/sync-failures.ts';

/** A message to be parsed. */
export interface ReadableMessage {
  providerId: string;
  content: ParsableContent;
}

/** Parsed messages by provider id, and which of them could not be parsed. */
export interface ReadMessages {
  parsed: ReadonlyMap<string, ParsedMessage>;
  failures: ReadFailure[];
}

/** Reason that is recorded for a message that crashed a worker. */
export const CRASHED = 'a worker crashed while it read this message';

/**
 * True if a worker crashed while it had claimed this mailbox. Messages are then read one at a time,
 * and batches are small.
 */
export function isAfterCrash({ crashes, reading }: MirrorState): boolean {
  return crashes > 0 || reading !== null;
}

/** The message, whose users learn why it is not complete. */
function withFailure({ parsed, failure }: ReadMessage): ParsedMessage {
  if (failure === null) return parsed;
  const warning = `The content of the message could not be read: ${storable(failure, 500)}`;
  return { ...parsed, warnings: [warning, ...parsed.warnings] };
}

/** Parses the messages of a sync pass. */
@Injectable()
export class MessageReader {
  constructor(
    private readonly repository: MirrorRepository,
    private readonly parser: MessageParser,
  ) {}

  /** Starts parsing contents that `read` or `readCarefully` will request later. */
  readAhead(contents: readonly ParsableContent[], accountId: string): void {
    this.parser.readAhead(contents, accountId);
  }

  /**
   * Parses messages. A message that cannot be parsed has as much as could be read of it.
   * @param patient false to fail if too much other work is waiting; default: true
   */
  async read(
    messages: readonly ReadableMessage[],
    accountId: string,
    patient = true,
  ): Promise<ReadMessages> {
    const contents = messages.map(({ content }) => content);
    const results = await this.parser.read(contents, accountId, patient);
    const parsed = new Map<string, ParsedMessage>();
    const failures: ReadFailure[] = [];
    for (const [index, { providerId }] of messages.entries()) {
      const read = results[index] ?? { parsed: UNREADABLE, failure: 'not parsed' };
      parsed.set(providerId, withFailure(read));
      const reason = read.failure ?? read.parsed.skipped;
      if (reason !== undefined) failures.push({ providerId, reason });
    }
    return { parsed, failures };
  }

  /**
   * As `read`, after a crash: one message at a time, each recorded before it is read. The message
   * that the crashed worker was reading is not parsed.
   */
  async readCarefully(
    messages: readonly ReadableMessage[],
    claim: MirrorClaim,
    { reading }: MirrorState,
  ): Promise<ReadMessages> {
    const parsed = new Map<string, ParsedMessage>();
    const failures: ReadFailure[] = [];
    for (const message of messages) {
      const { providerId } = message;
      if (providerId === reading) {
        parsed.set(providerId, UNREADABLE);
        failures.push({ providerId, reason: CRASHED });
        continue;
      }
      await this.repository.noteReading(claim, providerId);
      const one = await this.read([message], claim.accountId);
      for (const [id, result] of one.parsed) parsed.set(id, result);
      failures.push(...one.failures);
    }
    return { parsed, failures };
  }
}
