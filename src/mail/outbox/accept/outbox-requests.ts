import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import type {
  FirstResponse,
  IdempotentRequest,
} from '../../../platform/idempotency/idempotency-keys.ts';
import type { OutboxItem } from './outbox-content.ts';
import { OutboxPlanner } from './outbox-planner.ts';
import { toOutboxRequest, toOutboxView, toPlanView } from '../outbox.mapper.ts';
import type { CreateOutboxMessage } from '../outbox.schema.ts';
import { OutboxService } from '../outbox.service.ts';
import { entityTag } from './version-guard.ts';

/** A response with its headers. */
export interface OutboxResponse extends FirstResponse {
  headers: Readonly<Record<string, string>>;
}

/** Makes the responses to requests for the outbox, for all paths that lead there. */
@Injectable()
export class OutboxRequests {
  constructor(
    private readonly outbox: OutboxService,
    private readonly planner: OutboxPlanner,
  ) {}

  /** @throws {InvalidInputError} @throws {IdempotencyKeyReusedError} */
  async create(
    account: AccountPrincipal,
    { dry_run: dryRun }: { dry_run?: boolean | undefined },
    body: CreateOutboxMessage,
    call: IdempotentRequest | undefined,
  ): Promise<OutboxResponse> {
    const request = toOutboxRequest(body);
    if (dryRun)
      return {
        status: 200,
        body: toPlanView(await this.planner.plan(account, request)),
        headers: {},
      };
    if (!call) {
      const item = await this.outbox.create(account, request);
      return { ...toFirstAnswer(item), headers: { ETag: entityTag(item.version) } };
    }
    const { answer, replayed } = await this.outbox.createOnce(
      call,
      account,
      request,
      toFirstAnswer,
    );
    return {
      ...answer,
      headers: { ETag: entityTag(1), ...(replayed ? { 'Idempotent-Replayed': 'true' } : {}) },
    };
  }
}

function toFirstAnswer(item: OutboxItem): FirstResponse {
  return { status: 202, body: toOutboxView(item) };
}

/**
 * Sets the status and the headers of a response.
 * @returns the body to be sent
 */
export function writeResponse(
  { status, body, headers }: OutboxResponse,
  response: { status(code: number): unknown; setHeader(name: string, value: string): unknown },
): unknown {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  return body;
}
