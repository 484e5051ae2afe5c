import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { type Room, ResourcesRepository } from './resources.repository.ts';
import {
  listResourcesQuery,
  type ListResourcesQuery,
  roomList,
  type RoomView,
} from './resources.schema.ts';

@ApiTags('resources')
@AccountAuth({ anyScope: SCOPES_FOR.readRooms })
@Controller('resources')
export class ResourcesController {
  constructor(private readonly resources: ResourcesRepository) {}

  @Get()
  @Endpoint({
    summary: 'List meeting rooms, by name',
    description: 'Lists accounts of the application whose metadata has `room: true`.',
    response: roomList,
  })
  async list(
    @CurrentAccount() { applicationId }: AccountPrincipal,
    @Query({ schema: listResourcesQuery }) query: ListResourcesQuery,
  ) {
    return toListView(await this.resources.list(applicationId, query), toRoomView);
  }
}

function toRoomView({ email, name, metadata }: Room): RoomView {
  const text = (key: string): string => String(metadata[`room_${key}`] ?? '');
  return {
    object: 'room_resource',
    email,
    name: text('name') || name || email,
    capacity: text('capacity'),
    building: text('building'),
    floor_name: text('floor_name'),
    floor_number: text('floor_number'),
  };
}
