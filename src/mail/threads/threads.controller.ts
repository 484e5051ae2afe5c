import { Body, Controller, Get, Param, Patch, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toStateChange } from '../messages/messages.mapper.ts';
import { toThreadFilter, toThreadView } from './threads.mapper.ts';
import {
  changedThreadView,
  listThreadsQuery,
  type ListThreadsQuery,
  threadList,
  threadQuery,
  threadStateView,
  threadView,
  updateThread,
  type UpdateThread,
} from './threads.schema.ts';
import { ThreadsService } from './threads.service.ts';

const WRITE = { anyScope: SCOPES_FOR.moveMail, write: true } as const;

/** There is no DELETE: a thread is moved to the trash by PUT. */
@ApiTags('threads')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@Controller('threads')
export class ThreadsController {
  constructor(private readonly threads: ThreadsService) {}

  @Get()
  @Endpoint({
    summary: 'List threads, newest last message first',
    description:
      'All filters must match, each on any message of the thread. Threads without messages are not listed.',
    response: threadList,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listThreadsQuery }) query: ListThreadsQuery,
  ) {
    const { view } = query;
    const listing = await this.threads.list(account, {
      filter: toThreadFilter(query),
      page: query,
      view,
    });
    return toListView(listing, (thread) => toThreadView(thread, account.organizationUnit, view));
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Read a thread',
    description:
      'With `view=expanded` the response has messages and drafts instead of their ids, without their bodies.',
    response: threadView,
  })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: threadQuery }) { view }: z.infer<typeof threadQuery>,
  ) {
    const thread = await this.threads.get(account, id, { expanded: view === 'expanded' });
    return toThreadView(thread, account.organizationUnit, view);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Change all messages of a thread',
    description:
      'Changes flags, folder or labels. Drafts are not changed, and sent mail is not moved. Of labels, only differences to the current list are applied. Read-only attributes of the thread are ignored. Each changed message ' +
      'has its own job; the response names the job of the newest message. A token whose scopes do not allow reading mail ' +
      '(`email.folders_and_labels`) gets a `ThreadState`.',
    response: changedThreadView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateThread }) body: UpdateThread,
  ) {
    const { thread, jobId } = await this.threads.update(account, id, toStateChange(body));
    const view = toThreadView(thread, account.organizationUnit, undefined, jobId);
    return allows(account.scopes, SCOPES_FOR.readMail) ? view : threadStateView.parse(view);
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'The same as PUT', aliasOf: 'Threads_update', response: changedThreadView })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateThread }) body: UpdateThread,
  ) {
    return this.update(account, id, body);
  }
}
