import type { AddressInfo } from 'node:net';
import { EntityManager, Reference } from '@mikro-orm/core';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Module,
  Query,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request } from 'express';
import { pino } from 'pino';
import { AccessToken } from '../../src/accounts/grants/tokens/access-token.entity.ts';
import { ormConfig } from '../../src/app/mikro-orm.config.ts';
import { Event } from '../../src/calendar/events/event.entity.ts';
import { hashToken } from '../../src/platform/base/crypto/token-hash.ts';
import { LISTS, type Row } from './raw-lists.ts';
import { serve } from './serve.ts';

/*
 * What a plain server of NestJS and MikroORM costs: a guard that finds the token with its account,
 * a controller that finds the events of a page, and one log line. The bench runs its files without
 * a build, which has no syntax for decorators, so they are called as functions.
 */

const { view } = LISTS['/events']!;
const log = pino();

interface Authenticated extends Request {
  accountId: string;
}

class TokenGuard implements CanActivate {
  readonly #em: EntityManager;

  constructor(em: EntityManager) {
    this.#em = em;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Authenticated>();
    const hash = hashToken(request.headers.authorization?.replace(/^Bearer /, '') ?? '');
    const token = await this.#em.findOne(
      AccessToken,
      { hash, revokedAt: null },
      { populate: ['grant'] },
    );
    if (!token) throw new UnauthorizedException();
    request.accountId = token.grant.id;
    return true;
  }
}
Inject(EntityManager)(TokenGuard, undefined, 0);

class EventsController {
  readonly #em: EntityManager;
  readonly #columns: [column: string, property: string][];

  constructor(em: EntityManager) {
    this.#em = em;
    const { props } = em.getMetadata().get(Event);
    this.#columns = props.map(({ fieldNames: [column = ''], name }) => [column, name]);
  }

  async list({ accountId, method, path }: Authenticated, limit: string): Promise<object[]> {
    const begun = performance.now();
    const events = await this.#em.find(
      Event,
      { account: accountId, status: { $ne: 'cancelled' } },
      { orderBy: { startsAt: 'asc', id: 'asc' }, limit: Number(limit) },
    );
    const views = events.map((event) => view(this.#rowOf(event as unknown as Row)));
    log.info({ method, path, account: accountId, took: Math.round(performance.now() - begun) });
    return views;
  }

  /** The columns of an event by their names in the table, which the view takes. */
  #rowOf(event: Row): Row {
    const valueOf = (value: unknown) =>
      Reference.isReference(value) ? (value as unknown as { id: string }).id : value;
    return Object.fromEntries(
      this.#columns.map(([column, name]) => [column, valueOf(event[name])]),
    );
  }
}
Controller()(EventsController);
Inject(EntityManager)(EventsController, undefined, 0);
UseGuards(TokenGuard)(EventsController);
const { prototype } = EventsController;
Get('events')(prototype, 'list', Object.getOwnPropertyDescriptor(prototype, 'list')!);
Req()(prototype, 'list', 0);
Query('limit')(prototype, 'list', 1);

class PlainModule {}
Module({
  imports: [
    MikroOrmModule.forRoot(
      ormConfig(process.env['DATABASE_URL'] ?? '', Number(process.env['DATABASE_POOL'])),
    ),
  ],
  controllers: [EventsController],
  providers: [TokenGuard],
})(PlainModule);

process.on('SIGINT', () => undefined);
const app = await NestFactory.create<NestExpressApplication>(PlainModule, { logger: false });
await app.listen(0, '127.0.0.1');
const server = app.getHttpServer() as { address(): AddressInfo };
serve(server.address().port);
