import {
  Body,
  Controller,
  Delete,
  Get,
  HttpStatus,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import {
  AcceptsIdempotencyKey,
  IdempotentCall,
} from '../../platform/idempotency/idempotency-key.decorator.ts';
import type { IdempotentRequest } from '../../platform/idempotency/idempotency-keys.ts';
import { writeResponse, OutboxRequests } from './accept/outbox-requests.ts';
import { toExpectedVersion, toOutboxEdit, toOutboxView } from './outbox.mapper.ts';
import type { OutboxItem } from './accept/outbox-content.ts';
import {
  type CancelOutboxMessage,
  cancelOutboxMessage,
  type CreateOutboxMessage,
  createOutboxMessage,
  createOutboxQuery,
  listOutboxQuery,
  outboxMessage,
  outboxMessageOrPlan,
  outboxMessages,
  outboxPlan,
  type OutboxMessageView,
  type UpdateOutboxMessage,
  updateOutboxMessage,
} from './outbox.schema.ts';
import { OutboxService } from './outbox.service.ts';
import { entityTag, IfMatch, type VersionGuard } from './accept/version-guard.ts';

const CREATE_RULE =
  'Accepted messages are kept until they are sent, cancelled, or their retry limit is reached. With `dry_run=true` nothing is stored: the request is checked like a real one, and the 200 response describes what would happen.';
const EDIT_RULE =
  'Absent fields keep their values, and an edit that changes nothing has no effect. If `to`, `cc` and `bcc` are all present and empty, the empty lists of the request keep their values, too; otherwise an empty list removes its entries. The edit applies in full while no attempt to send has begun, even in the last five minutes before `send_at`. Afterwards the response is 409 and nothing is changed.';
const CANCEL_RULE =
  'The cancellation applies while the message is not being sent, also between two attempts. Otherwise the response is 409 and nothing is changed. If some recipients have already accepted the message, `reason` lists them. A repeated cancellation returns 200 with the same cancelled message.';
const IF_MATCH = {
  name: 'If-Match',
  required: false,
  description:
    'The expected version, as returned in ETag, or `*` for any version. 412 if the message has another version',
};
const HEADERS = { ETag: 'The version of the message, for If-Match' };
const CURRENT = { response: outboxMessage, headers: HEADERS };
const WRITE = { anyScope: SCOPES_FOR.sendMail, write: true } as const;

@ApiTags('outbox')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('v2/outbox')
export class OutboxController {
  constructor(
    private readonly outbox: OutboxService,
    private readonly requests: OutboxRequests,
  ) {}

  @Get()
  @Endpoint({ summary: 'List messages that are still to be sent', response: outboxMessages })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listOutboxQuery }) query: z.infer<typeof listOutboxQuery>,
  ) {
    return toListView(await this.outbox.list(account, query), toOutboxView);
  }

  @Get(':job_status_id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read an outbox message, whatever its status', ...CURRENT })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Res({ passthrough: true }) response: Response,
  ) {
    return answer(await this.outbox.get(account, id), response);
  }

  @Post()
  @Access(WRITE)
  @ApiErrors(409, 413, 501)
  @AcceptsIdempotencyKey()
  @ApiResponse({
    status: 200,
    description: 'With dry_run: what would happen',
    standardSchema: outboxPlan,
  })
  @Endpoint({
    summary: 'Send a message now or later',
    description: CREATE_RULE,
    response: outboxMessageOrPlan,
    status: HttpStatus.ACCEPTED,
    headers: {
      ...HEADERS,
      'Idempotent-Replayed':
        '`true` if this is the response to an earlier request with this Idempotency-Key',
    },
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: createOutboxQuery }) query: z.infer<typeof createOutboxQuery>,
    @Body({ schema: createOutboxMessage }) body: CreateOutboxMessage,
    @IdempotentCall() call: IdempotentRequest | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    return writeResponse(await this.requests.create(account, query, body, call), response);
  }

  @Patch(':job_status_id')
  @Access(WRITE)
  @ApiErrors(404, 409, 412, 413, 501)
  @ApiHeader(IF_MATCH)
  @Endpoint({ summary: 'Change a message before it is sent', description: EDIT_RULE, ...CURRENT })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Body({ schema: updateOutboxMessage }) body: UpdateOutboxMessage,
    @IfMatch() ifMatch: VersionGuard['ifMatch'],
    @Res({ passthrough: true }) response: Response,
  ) {
    const guard = guardOf(ifMatch, { version: toExpectedVersion(body) });
    return answer(await this.outbox.update(account, id, toOutboxEdit(body), guard), response);
  }

  @Put(':job_status_id')
  @Access(WRITE)
  @ApiErrors(404, 409, 412, 413, 501)
  @ApiHeader(IF_MATCH)
  @Endpoint({
    summary: 'Change a message before it is sent (same as PATCH)',
    aliasOf: 'Outbox_update',
    description: EDIT_RULE,
    ...CURRENT,
  })
  replace(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Body({ schema: updateOutboxMessage }) body: UpdateOutboxMessage,
    @IfMatch() ifMatch: VersionGuard['ifMatch'],
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.update(account, id, body, ifMatch, response);
  }

  @Delete(':job_status_id')
  @ApiErrors(404, 409, 412)
  @ApiHeader(IF_MATCH)
  @Endpoint({ summary: 'Cancel a message before it is sent', description: CANCEL_RULE, ...CURRENT })
  async cancel(
    @CurrentAccount() account: AccountPrincipal,
    @Param('job_status_id') id: string,
    @Body({ schema: cancelOutboxMessage }) body: CancelOutboxMessage,
    @IfMatch() ifMatch: VersionGuard['ifMatch'],
    @Res({ passthrough: true }) response: Response,
  ) {
    return answer(await this.outbox.cancel(account, id, guardOf(ifMatch, body)), response);
  }
}

function guardOf(
  ifMatch: VersionGuard['ifMatch'],
  { version }: { version?: number | null },
): VersionGuard {
  return { ifMatch, version: version ?? undefined };
}

function answer(item: OutboxItem, response: Response): OutboxMessageView {
  response.setHeader('ETag', entityTag(item.version));
  return toOutboxView(item);
}
