import { Body, Controller, Get, Post, Query, Req, Res } from '@nestjs/common';
import { ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccountAuth, CurrentAccount } from '../platform/auth/access.decorators.ts';
import { PresentedToken } from '../platform/auth/presented-token.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { fromUnixSeconds } from '../platform/base/time/unix-seconds.ts';
import { keepSmall } from '../platform/base/large-responses.ts';
import { Endpoint } from '../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../platform/http/errors/error.schema.ts';
import { DELTA_LINES, sendDeltaLines } from '../platform/http/responses/delta-lines.ts';
import { sendAscii } from '../platform/http/responses/json-responses.ts';
import { DELTA_SCOPES } from '../platform/changes/delta-types.ts';
import { DeltaWaits } from './delta-waits.ts';
import { toDeltasView, toTypes } from './deltas.mapper.ts';
import {
  cursorView,
  deltaLines,
  deltaQuery,
  type DeltaQuery,
  deltasView,
  generateCursor,
  type GenerateCursor,
  longPollQuery,
  type LongPollQuery,
  streamQuery,
  type StreamQuery,
} from './deltas.schema.ts';
import { DeltasService } from './deltas.service.ts';

/** Changes of an account. The token's scopes decide which types of objects are included. */
@ApiTags('delta')
@AccountAuth({ anyScope: DELTA_SCOPES })
@Controller('delta')
export class DeltasController {
  constructor(
    private readonly deltas: DeltasService,
    private readonly waits: DeltaWaits,
  ) {}

  @Post('latest_cursor')
  @Endpoint({ summary: 'A cursor for all changes from now on', response: cursorView })
  async latestCursor(@CurrentAccount() account: AccountPrincipal) {
    return { cursor: await this.deltas.latestCursor(account) };
  }

  @Post('generate_cursor')
  @Endpoint({
    summary: 'A cursor for all changes since a time',
    description:
      'The history is kept for 14 days; an earlier time means the beginning of the kept history. Deprecated.',
    response: cursorView,
  })
  async generateCursor(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: generateCursor }) { start }: GenerateCursor,
  ) {
    return { cursor: await this.deltas.cursorAt(account, fromUnixSeconds(start)) };
  }

  @Get()
  @ApiErrors(410)
  @Endpoint({
    summary: 'Changes after a cursor',
    description:
      'One delta for each object, with the current object. Continue from `cursor_end` until it stays the same.',
    response: deltasView,
  })
  async since(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: deltaQuery }) query: DeltaQuery,
  ) {
    const types = toTypes(query, account.scopes);
    return toDeltasView(await this.deltas.read(account, { ...query, types }));
  }

  @Get('longpoll')
  @ApiErrors(410)
  @Endpoint({
    summary: 'Changes after a cursor; waits until there are some',
    description:
      'Returns no deltas if nothing changes within `timeout`. At most 10 concurrent requests for one account.',
    response: deltasView,
  })
  async longPoll(
    @CurrentAccount() account: AccountPrincipal,
    @PresentedToken() token: string,
    @Query({ schema: longPollQuery }) { timeout, ...query }: LongPollQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const types = toTypes(query, account.scopes);
    const reader = { account, token, timeoutMs: timeout * 1000 };
    keepSmall(response);
    sendAscii(response);
    const page = await this.waits.longPoll(reader, { ...query, types }, (gone) => {
      response.once('close', gone);
    });
    return toDeltasView(page);
  }

  @Get('streaming')
  @ApiErrors(410)
  @ApiProduces(DELTA_LINES)
  @Endpoint({
    summary: 'Deltas as they occur, one line of JSON each',
    description:
      'An empty line is sent every second. The stream ends after `timeout` or when the server ' +
      'stops: continue from the cursor of the last delta. At most 10 concurrent streams for one account.',
    response: deltaLines,
  })
  async stream(
    @CurrentAccount() account: AccountPrincipal,
    @PresentedToken() token: string,
    @Query({ schema: streamQuery }) { timeout, ...query }: StreamQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const types = toTypes(query, account.scopes);
    const reader = { account, token, timeoutMs: request.method === 'HEAD' ? 0 : timeout * 1000 };
    await sendDeltaLines(response, (onGone, open) =>
      this.waits.stream(reader, { ...query, types }, onGone, open),
    );
  }
}
