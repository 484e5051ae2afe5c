import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import type {
  FirstAnswer,
  IdempotentRequest,
} from '../../platform/idempotency/idempotency-keys.ts';
import type { OutboxItem } from './outbox-content.ts';
import { OutboxPlanner } from './outbox-planner.ts';
import { toOutboxRequest, toOutboxView, toPlanView } from './outbox.mapper.ts';
import type { CreateOutboxMessage } from './outbox.schema.ts';
import { OutboxService } from './outbox.service.ts';
import { entityTag } from './version-guard.ts';

/** An answer with the headers that belong to it. */
export interface RequestAnswer extends FirstAnswer {
  headers: Readonly<Record<string, string>>;
}

/** What is answered to a request for the outbox, whichever path it came by. */
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
  ): Promise<RequestAnswer> {
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

function toFirstAnswer(item: OutboxItem): FirstAnswer {
  return { status: 202, body: toOutboxView(item) };
}

/** Gives an answer: its status and headers to the response, its body to the caller. */
export function answerRequest(
  { status, body, headers }: RequestAnswer,
  response: { status(code: number): unknown; setHeader(name: string, value: string): unknown },
): unknown {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  return body;
}
