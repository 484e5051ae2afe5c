import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  Param,
  Patch,
  Post,
  Put,
  Query,
  StreamableFile,
} from '@nestjs/common';
import { ApiProduces, ApiTags } from '@nestjs/swagger';
import { Access, AccountAuth, CurrentAccount } from '../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { SCOPES_FOR } from '../platform/auth/scopes.ts';
import { jobReference } from '../platform/wire/wire.schema.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { toListView } from '../platform/database/listing.ts';
import { Endpoint } from '../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../platform/http/errors/error.schema.ts';
import {
  toContactFilter,
  toContactInput,
  toContactView,
  toGroupView,
  toReadContactView,
} from './contacts.mapper.ts';
import {
  contactGroupList,
  contactList,
  contactView,
  createContact,
  type CreateContact,
  listContactsQuery,
  type ListContactsQuery,
  listGroupsQuery,
  type ListGroupsQuery,
  pictureBytes,
  readContactQuery,
  type ReadContactQuery,
  updateContact,
  type UpdateContact,
} from './contacts.schema.ts';
import { ContactsService, type WrittenContact } from './contacts.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeContacts, write: true } as const;

@ApiTags('contacts')
@AccountAuth({ anyScope: SCOPES_FOR.readContacts })
@Controller('contacts')
export class ContactsController {
  constructor(
    private readonly contacts: ContactsService,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
  ) {}

  @Get()
  @Endpoint({ summary: 'List contacts, oldest first', response: contactList })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listContactsQuery }) query: ListContactsQuery,
  ) {
    const { view } = query;
    const page = { ...query, view: view === 'expanded' ? undefined : view };
    const found = await this.contacts.list(account, toContactFilter(query), page);
    return toListView(found, (contact) => toReadContactView(contact, this.config.baseUrl, view));
  }

  @Get('groups')
  @Endpoint({ summary: 'List the groups that contacts are in', response: contactGroupList })
  async groups(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listGroupsQuery }) { offset, limit }: ListGroupsQuery,
  ) {
    const groups = await this.contacts.groups(account);
    const end = limit === undefined ? undefined : offset + limit;
    return groups.slice(offset, end).map((group) => toGroupView(account.accountId, group));
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Read a contact', response: contactView })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: readContactQuery }) { view }: ReadContactQuery,
  ) {
    return toReadContactView(await this.contacts.get(account, id), this.config.baseUrl, view);
  }

  @Get(':id/picture')
  @ApiErrors(404, 503)
  @ApiProduces('image/jpeg', 'image/png', 'image/gif', 'image/webp')
  @Endpoint({
    summary: "Read a contact's picture",
    description: 'The image as the provider has it. 404 if the contact has no picture.',
    response: pictureBytes,
  })
  async picture(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    const { bytes, contentType } = await this.contacts.picture(account, id);
    return new StreamableFile(bytes, {
      type: contentType,
      length: bytes.length,
      disposition: 'inline',
    });
  }

  @Post()
  @Access(WRITE)
  @Endpoint({
    summary: 'Create a contact in the address book',
    description:
      'The contact is visible immediately. A job sends it to the provider; `job_status_id` names that job.',
    response: contactView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createContact }) body: CreateContact,
  ) {
    return this.#written(await this.contacts.create(account, toContactInput(body)));
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Change a contact of the address book',
    description: 'Fields that are not sent keep their values. Lists are replaced as a whole.',
    response: contactView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateContact }) body: UpdateContact,
  ) {
    return this.#written(await this.contacts.update(account, id, toContactInput(body)));
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'The same as PUT', aliasOf: 'Contacts_update', response: contactView })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateContact }) body: UpdateContact,
  ) {
    return this.update(account, id, body);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'Delete a contact of the address book', response: jobReference })
  async delete(@CurrentAccount() account: AccountPrincipal, @Param('id') id: string) {
    return { job_status_id: await this.contacts.delete(account, id) };
  }

  #written({ contact, jobId }: WrittenContact) {
    return toContactView(contact, this.config.baseUrl, jobId);
  }
}
