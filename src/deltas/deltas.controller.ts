import { Body, Controller, Get, Post, Query, Req, Res } from '@nestjs/common';
import { ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccountAuth, CurrentAccount } from '../platform/auth/access.decorators.ts';
import { PresentedToken } from '../platform/auth/presented-token.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { fromUnixSeconds } from '../platform/base/time/unix-seconds.ts';
import { keepSmall } from '../platform/base/large-answers.ts';
import { Endpoint } from '../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../platform/http/error.schema.ts';
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

const LINES = 'text/event-stream';
/** How long a client has to take what is on its way when its stream ends. */
const LAST_WORDS_MS = 2_000;

/** What has changed in an account; the scopes of the token say which kinds of objects are told of. */
@ApiTags('delta')
@AccountAuth({ anyScope: DELTA_SCOPES })
@Controller('delta')
export class DeltasController {
  constructor(
    private readonly deltas: DeltasService,
    private readonly waits: DeltaWaits,
  ) {}

  @Post('latest_cursor')
  @Endpoint({ summary: 'A cursor for everything that changes from now on', response: cursorView })
  async latestCursor(@CurrentAccount() account: AccountPrincipal) {
    return { cursor: await this.deltas.latestCursor(account) };
  }

  @Post('generate_cursor')
  @Endpoint({
    summary: 'A cursor for everything that has changed since a time',
    description: 'Times before the history that is kept (14 days) mean its beginning. Deprecated.',
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
    summary: 'What has changed after a cursor',
    description:
      'One delta for each object, with the object as it is now. Read on from `cursor_end` until it stays the same.',
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
    summary: 'The same, answered when there is something to tell',
    description:
      'At the end of `timeout` the answer has no deltas. At most 10 at once for one account.',
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
    const page = await this.waits.longPoll(reader, { ...query, types }, (gone) => {
      response.once('close', gone);
    });
    return toDeltasView(page);
  }

  @Get('streaming')
  @ApiErrors(410)
  @ApiProduces(LINES)
  @Endpoint({
    summary: 'Deltas as they happen, one line of JSON each',
    description:
      'A line is empty when nothing has happened for a second. The stream ends after `timeout`, or when the server ' +
      'stops: go on from the cursor of the last delta. At most 10 at once for one account.',
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
    const open = () => {
      response.status(200).set({
        'Content-Type': LINES,
        'Cache-Control': 'no-cache, no-transform',
        // Proxies keep nothing back.
        'X-Accel-Buffering': 'no',
      });
      response.flushHeaders();
      return response;
    };
    const reader = { account, token, timeoutMs: request.method === 'HEAD' ? 0 : timeout * 1000 };
    keepSmall(response);
    await this.waits.stream(
      reader,
      { ...query, types },
      (gone) => response.once('close', gone),
      open,
    );
    response.end();
    // Nobody waits for a client that does not read.
    const patience = setTimeout(() => response.destroy(), LAST_WORDS_MS);
    response.once('close', () => clearTimeout(patience));
  }
}
