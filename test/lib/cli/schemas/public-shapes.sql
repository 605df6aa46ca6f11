-- Ten schemas in the shape of public ones: names, types and constraints as such applications have them, written anew.
create extension if not exists citext;

create schema social;
set search_path = social, public;
create table accounts (id bigserial primary key, username varchar not null default '', domain varchar, private_key text, public_key text not null default '', note text not null default '', display_name varchar not null default '', uri varchar not null default '', locked bool not null default false, followers_url varchar not null default '', protocol int not null default 0, memorial bool not null default false, moved_to_account_id bigint references accounts, suspended_at timestamp, trust_level int, actor_type varchar, discoverable bool, also_known_as varchar[], fields jsonb, created_at timestamp not null default now());
create unique index on accounts (username, lower(domain));
create table user_roles (id bigserial primary key, name varchar not null default '', permissions bigint not null default 0, position int not null default 0);
create table users (id bigserial primary key, email varchar not null unique, encrypted_password varchar not null default '', reset_password_token varchar unique, reset_password_sent_at timestamp, sign_in_count int not null default 0, confirmation_token varchar unique, confirmed_at timestamp, otp_secret varchar, otp_required_for_login bool not null default false, otp_backup_codes varchar[], consumed_timestep int, account_id bigint not null references accounts, disabled bool not null default false, approved bool not null default true, role_id bigint references user_roles, settings text, time_zone varchar);
create table statuses (id bigserial primary key, text text not null default '', account_id bigint not null references accounts, in_reply_to_id bigint references statuses, sensitive bool not null default false, visibility int not null default 0, language varchar, created_at timestamp not null default now(), edited_at timestamp);
create table favourites (id bigserial primary key, account_id bigint not null references accounts, status_id bigint not null references statuses, unique (account_id, status_id));
create table tags (id bigserial primary key, name varchar not null default '' unique, usable bool, listable bool);
create table statuses_tags (status_id bigint not null references statuses, tag_id bigint not null references tags, primary key (status_id, tag_id));
create table oauth_access_tokens (id bigserial primary key, token varchar not null unique, refresh_token varchar, expires_in int, revoked_at timestamp, scopes varchar, resource_owner_id bigint references users);
create table web_push_subscriptions (id bigserial primary key, endpoint varchar not null, key_p256dh varchar not null, key_auth varchar not null, data json, user_id bigint references users);

create schema forum;
set search_path = forum, public;
create table users (user_id serial primary key, user_type smallint not null default 0, group_id int not null default 3, user_permissions text not null default '', username varchar(255) not null default '', user_password varchar(255) not null default '', user_newpasswd varchar(255) not null default '', user_email citext not null default '', user_birthday varchar(10) not null default '', user_actkey varchar(32) not null default '', user_rank int not null default 0, reset_token varchar(64) not null default '');
create table forums (forum_id serial primary key, parent_id int references forums, forum_name varchar(255) not null default '', forum_password varchar(255) not null default '', left_id int not null default 0, right_id int not null default 0);
create table topics (topic_id serial primary key, forum_id int not null references forums, topic_title varchar(255) not null default '', topic_poster int not null references users, topic_time int not null default 0, topic_status smallint not null default 0);
create table posts (post_id serial primary key, topic_id int not null references topics, poster_id int not null references users, post_text text not null default '', post_checksum varchar(32) not null default '', poster_ip inet);
create table sessions (session_id char(32) primary key, session_user_id int references users, session_ip varchar(40) not null default '', session_page varchar(255) not null default '');
create table poll_votes (topic_id int not null references topics, vote_user_id int not null references users, vote_user_ip varchar(40) not null default '', primary key (topic_id, vote_user_id));

create schema voip;
set search_path = voip, public;
create table subscriber (id serial primary key, username varchar(64) not null default '', domain varchar(64) not null default '', password varchar(64) not null default '', ha1 varchar(128) not null default '', ha1b varchar(128) not null default '', unique (username, domain));
create table location (id serial primary key, ruid varchar(64) not null default '' unique, username varchar(64) not null default '', contact varchar(512) not null default '', expires timestamp not null default '2030-05-28 21:32:15', q real not null default 1.0, flags int not null default 0, cflags int not null default 0);
create table acc (id serial primary key, method varchar(16) not null default '', callid varchar(255) not null default '', sip_code varchar(3) not null default '', sip_reason varchar(32) not null default '', time timestamp not null);
create table version (table_name varchar(32) not null, table_version int not null default 0, unique (table_name));

create schema monitor;
set search_path = monitor, public;
create table role (roleid bigint primary key, name varchar(255) not null default '' unique, type int not null default 0, readonly int not null default 0);
create table users (userid bigint primary key, username varchar(100) not null default '' unique, name varchar(100) not null default '', surname varchar(100) not null default '', passwd varchar(60) not null default '', url varchar(2048) not null default '', autologin int not null default 0, roleid bigint references role, attempt_failed int not null default 0);
create table hosts (hostid bigint primary key, proxy_hostid bigint references hosts, host varchar(128) not null default '', status int not null default 0, name varchar(128) not null default '', tls_psk_identity varchar(128) not null default '', tls_psk varchar(512) not null default '', templateid bigint references hosts on delete cascade);
create table items (itemid bigint primary key, type int not null default 0, hostid bigint not null references hosts on delete cascade, name varchar(255) not null default '', key_ varchar(2048) not null default '', delay varchar(1024) not null default '0', units varchar(255) not null default '', privatekey text not null default '', password varchar(255) not null default '');
create table history (itemid bigint not null references items, clock int not null default 0, value float8 not null default 0, ns int not null default 0, primary key (itemid, clock, ns));
create table token (tokenid bigint primary key, name varchar(64) not null default '', userid bigint not null references users, token varchar(128) unique, expires_at int not null default 0);
create table media (mediaid bigint primary key, userid bigint not null references users, sendto varchar(1024) not null default '', active int not null default 0);

create schema identity;
set search_path = identity, public;
create type factor_type as enum ('totp', 'webauthn');
create table users (instance_id uuid, id uuid primary key, aud varchar(255), role varchar(255), email varchar(255), encrypted_password varchar(255), email_confirmed_at timestamptz, confirmation_token varchar(255), recovery_token varchar(255), email_change varchar(255), raw_app_meta_data jsonb, raw_user_meta_data jsonb, is_super_admin bool, phone text unique, banned_until timestamptz, confirmed_at timestamptz generated always as (email_confirmed_at) stored, is_sso_user bool not null default false);
create table identities (id uuid primary key default gen_random_uuid(), provider_id text not null, user_id uuid not null references users, identity_data jsonb not null, provider text not null, email text generated always as (lower(identity_data ->> 'email')) stored, unique (provider_id, provider));
create table sessions (id uuid primary key, user_id uuid not null references users, created_at timestamptz, user_agent text, ip inet, not_after timestamptz);
create table refresh_tokens (id bigserial primary key, token varchar(255) unique, user_id varchar(255), revoked bool, parent varchar(255) references refresh_tokens (token), session_id uuid references sessions);
create table mfa_factors (id uuid primary key, user_id uuid not null references users, friendly_name text, factor_type factor_type not null, secret text);
create table flow_state (id uuid primary key, user_id uuid, auth_code text not null, code_challenge text not null, provider_type text not null, code_verifier text);

create schema tracker;
set search_path = tracker, public;
create table users (id serial primary key, login varchar not null default '', hashed_password varchar(40) not null default '', firstname varchar(30) not null default '', admin bool not null default false, status int not null default 1, salt varchar(64), twofa_scheme varchar, twofa_totp_key varchar, type varchar);
create table projects (id serial primary key, name varchar not null default '', identifier varchar, is_public bool not null default true, parent_id int references projects, lft int, rgt int, status int not null default 1);
create table roles (id serial primary key, name varchar not null default '', assignable bool default true, permissions text);
create table members (id serial primary key, user_id int not null references users, project_id int not null references projects, unique (user_id, project_id));
create table member_roles (id serial primary key, member_id int not null references members, role_id int not null references roles);
create table issue_statuses (id serial primary key, name varchar(30) not null default '', is_closed bool not null default false);
create table issues (id serial primary key, project_id int not null references projects, subject varchar not null default '', description text, due_date date, status_id int not null references issue_statuses, assigned_to_id int references users, author_id int not null references users, done_ratio int not null default 0, estimated_hours float8, lock_version int not null default 0, created_on timestamptz);
create table time_entries (id serial primary key, project_id int not null references projects, user_id int not null references users, issue_id int references issues, hours float8 not null, spent_on date not null, tyear int not null);
create table watchers (id serial primary key, watchable_type varchar not null default '', watchable_id int not null default 0, user_id int references users);
create table tokens (id serial primary key, user_id int not null references users, action varchar(30) not null default '', value varchar(40) not null unique);

create schema shop;
set search_path = shop, public;
create table stores (id bigserial primary key, name varchar, url varchar, code varchar unique, "default" bool not null default false);
create table users (id bigserial primary key, encrypted_password varchar(128), password_salt varchar(128), email varchar unique, spree_api_key varchar(48), authentication_token varchar, selected_locale varchar, ship_address_id bigint, store_credits numeric(10,2));
create table products (id bigserial primary key, name varchar not null default '', description text, slug varchar unique, available_on timestamptz, meta jsonb, promotionable bool default true, deleted_at timestamptz);
create table variants (id bigserial primary key, sku varchar not null default '', weight numeric(8,2) default 0, is_master bool default false, product_id bigint references products, cost_price numeric(10,2), position int);
create table orders (id bigserial primary key, number varchar(32) unique, item_total numeric(10,2) not null default 0, total numeric(10,2) not null default 0, state varchar, user_id bigint references users, store_id bigint references stores, token varchar, currency varchar, completed_at timestamptz, created_by_id bigint references users);
create table line_items (id bigserial primary key, variant_id bigint references variants, order_id bigint references orders, quantity int not null check (quantity > 0), price numeric(10,2) not null);
create table gift_cards (id bigserial primary key, code varchar not null unique, amount numeric(10,2) not null default 0, balance numeric(10,2) not null default 0);
create view best_sellers as select product_id, count(*) as sold from variants join line_items on variant_id = variants.id group by product_id;

create schema maps;
set search_path = maps, public;
create type nwr_enum as enum ('Node', 'Way', 'Relation');
create table users (email varchar not null unique, id bigserial primary key, pass_crypt varchar not null, creation_time timestamp not null default now(), display_name varchar not null default '' unique, data_public bool not null default false, home_lat float8, pass_salt varchar, email_valid bool not null default false, new_email varchar, auth_uid varchar, status text not null default 'pending');
create table changesets (id bigserial primary key, user_id bigint not null references users, created_at timestamp not null, closed_at timestamp not null, num_changes int not null default 0);
create table changeset_tags (changeset_id bigint not null references changesets, k varchar not null default '', v varchar not null default '', primary key (changeset_id, k));
create table nodes (node_id bigint not null, latitude int not null, longitude int not null, changeset_id bigint not null references changesets, visible bool not null, tile bigint not null, version bigint not null, redaction_id int, primary key (node_id, version));
create table ways (way_id bigint not null, changeset_id bigint not null references changesets, version bigint not null, visible bool not null default true, primary key (way_id, version));
create table way_nodes (way_id bigint not null, node_id bigint not null, version bigint not null, sequence_id bigint not null, primary key (way_id, version, sequence_id), foreign key (way_id, version) references ways (way_id, version));
create table relation_members (relation_id bigint not null, member_type nwr_enum not null, member_id bigint not null, member_role varchar not null, version bigint not null default 0, sequence_id int not null default 0, primary key (relation_id, version, sequence_id));
create table gpx_files (id bigserial primary key, user_id bigint not null references users, visible bool not null default true, name varchar not null default '', size bigint, "timestamp" timestamp not null, inserted bool not null);

create schema chat;
set search_path = chat, public;
create table users (name text primary key, password_hash text, creation_ts bigint, admin smallint not null default 0, upgrade_ts bigint, is_guest smallint not null default 0, user_type text, deactivated smallint not null default 0, shadow_banned bool);
create table access_tokens (id bigint primary key, user_id text not null references users, device_id text, token text not null unique, valid_until_ms bigint, used bool);
create table rooms (room_id text primary key, is_public bool, creator text references users, room_version text);
create table events (stream_ordering bigint primary key, event_id text not null unique, room_id text not null references rooms, type text not null, content jsonb, depth bigint not null, sender text, contains_url bool);
create table receipts (room_id text not null, receipt_type text not null, user_id text not null, event_ids text[] not null, data text not null, primary key (room_id, receipt_type, user_id));
create table user_directory (user_id text not null unique, display_name text, vector tsvector);
create table pushers (id bigint primary key, user_name text not null references users, app_id varchar(64) not null, pushkey text not null, data bytea, enabled bool not null default true, unique (app_id, pushkey, user_name));
