import {
  Body,
  Controller,
  Get,
  Headers,
  Param,
  Patch,
  Put,
  Query,
  StreamableFile,
} from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { MessageChangesService } from './message-changes.service.ts';
import { toMessageChange, toMessageFilter, toMessageView } from './messages.mapper.ts';
import {
  changedMessageView,
  listMessagesQuery,
  type ListMessagesQuery,
  messageList,
  messageOrMessages,
  messageQuery,
  type MessageQuery,
  messageStateView,
  updateMessage,
  type UpdateMessage,
} from './messages.schema.ts';
import { MessagesService } from './messages.service.ts';

const MIME = 'message/rfc822';
const WRITE = { anyScope: SCOPES_FOR.moveMail, write: true } as const;

@ApiTags('messages')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@Controller('messages')
export class MessagesController {
  constructor(
    private readonly messages: MessagesService,
    private readonly changes: MessageChangesService,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List messages, newest first',
    description: 'All filters must match. Drafts are listed only with `in=drafts`.',
    response: messageList,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listMessagesQuery }) { view, ...query }: ListMessagesQuery,
  ) {
    const listing = await this.messages.list(account, {
      filter: toMessageFilter(query),
      page: query,
      view: view === 'expanded' ? undefined : view,
    });
    return toListView(listing, (message) => toMessageView(message, account.organizationUnit, view));
  }

  @Get(':id')
  @ApiErrors(404, 503)
  @ApiHeader({
    name: 'Accept',
    required: false,
    description: `\`${MIME}\`: the message as it was received`,
  })
  @Endpoint({
    summary: 'Read a message',
    description:
      'For several ids, separated by commas, the response is an array in their order. ' +
      `With \`Accept: ${MIME}\` the response is the message in that format, as the provider stores it.`,
    response: messageOrMessages,
  })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: messageQuery }) { view }: MessageQuery,
    @Headers('accept') accept = '',
  ) {
    if (wantsMime(accept))
      return new StreamableFile(await this.messages.raw(account, id), { type: MIME });
    const toView = (message: Parameters<typeof toMessageView>[0]) =>
      toMessageView(message, account.organizationUnit, view);
    if (!id.includes(',')) return toView(await this.messages.get(account, id));
    return (await this.messages.getMany(account, id.split(',').filter(Boolean))).map(toView);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Change a message',
    description:
      'Changes flags, folder or labels, and metadata. Fields that are not sent keep their values. The change is visible immediately; a job sends it to the ' +
      'provider. If the provider refuses the change, it is reverted. A token whose scopes do not allow reading mail ' +
      '(`email.folders_and_labels`) gets a `MessageState`.',
    response: changedMessageView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateMessage }) body: UpdateMessage,
  ) {
    const { message, jobId } = await this.changes.update(account, id, toMessageChange(body));
    const view = toMessageView(message, account.organizationUnit, undefined, jobId);
    return allows(account.scopes, SCOPES_FOR.readMail) ? view : messageStateView.parse(view);
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'The same as PUT',
    aliasOf: 'Messages_update',
    response: changedMessageView,
  })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateMessage }) body: UpdateMessage,
  ) {
    return this.update(account, id, body);
  }
}

/** True if the client names the format explicitly; wildcards mean JSON. */
function wantsMime(accept: string): boolean {
  return accept.split(',').some((range) => range.split(';', 1)[0]?.trim().toLowerCase() === MIME);
}
