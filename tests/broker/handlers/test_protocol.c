/* Every request in good and bad forms; limits of a connection (attack B5). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/passing.h"
#include "support/patience.h"

/* $HOME in a template becomes the test's home, so that templates can be constant. */
static char *fill(const char *template) {
	CLEANUP_FREE char *home = home_path("");
	struct string text = {0};
	for (const char *p = template; *p; p++) {
		if (string_starts(p, "$HOME")) {
			string_append(&text, home);
			if (string_ends(home, "/")) text.data[--text.size] = '\0';
			p += 4;
		} else {
			string_append_char(&text, *p == '\'' ? '"' : *p);
		}
	}
	return string_steal(&text);
}

#define WISH                                                                                                           \
	"'command':['tool'],'executable':'/usr/bin/tool','project':'$HOME/app','root':'$HOME/app','cwd':'$HOME/app'"

/* What must be answered by a message of the same type. `session`: on a connection that has one. */
static const struct {
	const char *body;
	const char *type;
	bool session;
} good[] = {
	{"{'type':'turn','id':9,'wanted':false}", "turn", false},
	{"{'type':'turn','id':9,'wanted':true,'elsewhere':false}", "turn", false},
	{"{'type':'session-open','id':9," WISH "}", "session-open", false},
	{"{'type':'session-open','id':9," WISH ",'profile':null,'environment':[],'allow':['fs:read=/srv/x'],"
	 "'deny':['net:access=*.bad.test'],'policy':null,'policy_name':null,'offline':true,'record':false}",
	 "session-open", false},
	{"{'type':'session-close','id':9,'exit':0}", "session-close", true},
	{"{'type':'session-close','id':9,'exit':-2}", "session-close", true},
	{"{'type':'resolve','id':9,'paths':[]}", "resolve", true},
	{"{'type':'resolve','id':9,'paths':['/usr','$HOME/app/x']}", "resolve", true},
	{"{'type':'writable','id':9}", "writable", true},
	{"{'type':'writable','id':9,'trees':['$HOME/app'],'folders':['/usr','$HOME/app/x']}", "writable", true},
	{"{'type':'roots','id':9}", "roots", true},
	{"{'type':'roots','id':9,'found':['$HOME/app/nested'],'gone':['$HOME/app/old']}", "roots", true},
	{"{'type':'check','id':9,'permission':'fs:read','target':'/etc/hosts','project':'$HOME/app'}", "check", false},
	{"{'type':'check','id':9,'permission':'net:access','target':'svc.test:443','project':'$HOME/app',"
	 "'profile':'default','ask':false,'process':'tool (1)','parents':['sh (2)'],'reason':'to see'}",
	 "check", false},
	{"{'type':'name','id':9,'host':'svc.test'}", "name", true},
	{"{'type':'cancel','id':9,'check':7}", "cancel", false},
	{"{'type':'event','id':9,'kind':'connection','permission':'net:access','target':'svc.test:443','detail':"
	 "{'bytes':12}}",
	 "event", true},
	{"{'type':'event','id':9,'kind':'repair','detail':{}}", "event", true},
	{"{'type':'grant','id':9,'permission':'net:access','target':'a.test:443','effect':'allow','lifetime':'until',"
	 "'ttl_ms':1000}",
	 "grant", false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/srv/x','effect':'deny','profile':'npm',"
	 "'project':'$HOME/app','session':null,'lifetime':'always','ttl_ms':null,'reason':'because'}",
	 "grant", false},
	{"{'type':'revoke','id':9,'all':true}", "revoke", false},
	{"{'type':'revoke','id':9,'profile':'npm'}", "revoke", false},
	{"{'type':'revoke','id':9,'session':1}", "revoke", false},
	{"{'type':'revoke','id':9,'match':{'permission':'net:access','target':'a.test:443'}}", "revoke", false},
	{"{'type':'kill','id':9,'all':true}", "kill", false},
	{"{'type':'list','id':9,'what':'grants'}", "list", false},
	{"{'type':'list','id':9,'what':'prompts','newest':true}", "list", false},
	{"{'type':'list','id':9,'what':'sessions','all':true,'filter':{'profile':'npm'}}", "list", false},
	{"{'type':'list','id':9,'what':'history','cursor':0,'filter':{'since_ms':0,'until_ms':1,'session':1,"
	 "'project':'/x','profile':'y','permission':'fs:read','verdict':'deny','kind':'decision'}}",
	 "list", false},
	{"{'type':'summary','id':9,'days':[1,2]}", "summary", false},
	{"{'type':'summary','id':9,'days':[1,2,3],'filter':{'profile':'npm'}}", "summary", false},
	{"{'type':'verify','id':9}", "verify", false},
	{"{'type':'verify','id':9,'cursor':null}", "verify", false},
	{"{'type':'agent','id':9,'kind':'tui','session':null}", "agent", false},
	{"{'type':'why','id':9,'permission':'fs:read','target':'~/.ssh/id','project':'$HOME/app','profile':null}",
	 "why", false},
	{"{'type':'policy','id':9}", "policy", false},
	{"{'type':'policy','id':9,'project':'$HOME/app','root':null}", "policy", true},
	{"{'type':'trust','id':9,'project':'$HOME/app','root':'$HOME/app','forget':true}", "trust", false},
	{"{'type':'status','id':9}", "status", false},
};

/* Well-formed, but not to be done: an error, and the connection stays. */
static const struct {
	const char *body;
	const char *says;
	bool session;
} refused[] = {
	{"{'type':'summary','id':9,'days':[1]}", "at least one day", false},
	{"{'type':'summary','id':9,'days':[2,1]}", "in order", false},
	{"{'type':'verify','id':9,'head':'1:xyz'}", "its hash of 64 digits", false},
	{"{'type':'session-open','id':9," WISH ",'profile':'nonsense'}", "no profile 'nonsense'", false},
	{"{'type':'session-open','id':9,'command':[],'executable':'/x','project':'/p','root':'/p','cwd':'/p'}",
	 "no command", false},
	{"{'type':'session-open','id':9,'command':['x'],'executable':'/x','project':'p','root':'/p','cwd':'/p'}",
	 "project", false},
	{"{'type':'session-open','id':9,'command':['x'],'executable':'/x','project':'/p/../q','root':'/p','cwd':'/p'}",
	 "normal", false},
	{"{'type':'session-open','id':9," WISH ",'allow':['nonsense']}", "'nonsense' lacks its target", false},
	{"{'type':'session-open','id':9," WISH ",'deny':['fs:read=']}", "fs:read", false},
	{"{'type':'session-open','id':9," WISH ",'policy':'version: [','policy_name':'mine.yaml'}",
	 "mine.yaml:", false},
	{"{'type':'check','id':9,'permission':'fs:read','target':'relative/../../x','project':null}", "project", false},
	{"{'type':'check','id':9,'permission':'net:access','target':'no port','project':'/p'}", "net:access", false},
	{"{'type':'check','id':9,'permission':'nonsense','target':'x','project':'/p'}", "nonsense", false},
	{"{'type':'check','id':9,'permission':'fs:read','target':'/x','profile':'npm'}", "session's own", true},
	{"{'type':'check','id':9,'permission':'db:access','target':'prod','ask':false}", "declares db:access", true},
	{"{'type':'agent','id':9,'kind':'nonsense'}", "kind is", false},
	{"{'type':'check','id':9,'permission':'net:access','target':'svc.test:80','led':true}", "no address", true},
	{"{'type':'name','id':9,'host':'svc.test:443'}", "svc.test:443", true},
	{"{'type':'name','id':9,'host':'192.0.2.1'}", "no name", true},
	{"{'type':'why','id':9,'permission':'db:access','target':'prod','project':'/p'}", "declares db:access", false},
	{"{'type':'why','id':9,'permission':'fs:read','target':'/x','session':4711}", "no session 4711", false},
	{"{'type':'grant','id':9,'permission':'db:access','target':'prod','effect':'allow','lifetime':'always'}",
	 "declares db:access", false},
	{"{'type':'grant','id':9,'permission':'sbx:ask','target':'*','effect':'allow','lifetime':'always'}",
	 "declares sbx:ask", false},
	{"{'type':'session-open','id':9," WISH ",'allow':['db:access=prod']}", "declares db:access", false},
	{"{'type':'check','id':9,'permission':'fs:read','target':'/x','project':'/p','profile':'nonsense'}", "nonsense",
	 false},
	{"{'type':'event','id':9,'kind':'decision','detail':{}}", "connection, repair and finding", true},
	{"{'type':'event','id':9,'kind':'nonsense','detail':{}}", "nonsense", true},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'until'}", "lasts",
	 false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'always',"
	 "'ttl_ms':5}",
	 "duration", false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'session'}",
	 "needs a session", false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'always',"
	 "'session':4711}",
	 "no session 4711", false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'/**/**/**/**/a/**/**/**/**/**/b','effect':'allow',"
	 "'lifetime':'always'}",
	 "**", false},
	{"{'type':'grant','id':9,'permission':'net:access','target':'a*.test','effect':'allow','lifetime':'always'}",
	 "labels", false},
	{"{'type':'grant','id':9,'permission':'fs:read','target':'~/.ssh','effect':'allow','lifetime':'always'}",
	 "can't be granted", false},
	{"{'type':'grant','id':9,'permission':'fs:write','target':'~/.local/state/sbx/sbx.db','effect':'allow',"
	 "'lifetime':'always'}",
	 "sbx itself", false},
	{"{'type':'revoke','id':9}", "which grants", false},
	{"{'type':'revoke','id':9,'all':true,'profile':'npm'}", "which grants", false},
	{"{'type':'revoke','id':9,'ids':[4711]}", "no grant 4711", false},
	{"{'type':'kill','id':9}", "which sessions", false},
	{"{'type':'kill','id':9,'sessions':[4711]}", "no session 4711", false},
	{"{'type':'list','id':9,'what':'nonsense'}", "grants, prompts", false},
	{"{'type':'verify','id':9,'cursor':4711000}", "no row", false},
	{"{'type':'agent','id':9,'kind':'nonsense'}", "terminal, desktop or tui", false},
	{"{'type':'answer','id':9,'prompt':4711,'effect':'allow'}", "no prompt 4711", false},
	{"{'type':'why','id':9,'permission':'fs:read','target':'/x'}", "project", false},
	{"{'type':'policy','id':9,'root':'/x'}", "project is missing", false},
	{"{'type':'policy','id':9,'project':'x'}", "project", false},
	{"{'type':'trust','id':9,'project':'/x'}", "by its hash, or forget", false},
	{"{'type':'trust','id':9,'project':'/x','hash':'00','forget':true}", "by its hash, or forget", false},
	{"{'type':'trust','id':9,'project':'/x','hash':'00'}", "there is no /x/.sbx.yaml", false},
	{"{'type':'trust','id':9,'project':'/x','root':'../y','forget':true}", "root", false},
};

/* Not the protocol: an error, and the connection is closed. */
static const struct {
	const char *body;
	bool session;
} malformed[] = {
	{"nonsense", false},
	{"[]", false},
	{"'text'", false},
	{"{}", false},
	{"{'type':'status'}", false},
	{"{'type':'status','id':0}", false},
	{"{'type':'status','id':-1}", false},
	{"{'type':'status','id':'1'}", false},
	{"{'type':'status','id':1.5}", false},
	{"{'type':'status','id':9223372036854775808}", false},
	{"{'type':7,'id':1}", false},
	{"{'type':'nonsense','id':1}", false},
	{"{'type':'name','id':1,'host':'svc.test'}", false},
	{"{'type':'name','id':1}", true},
	{"{'type':'name','id':1,'host':7}", true},
	{"{'type':'name','id':1,'host':'svc.test','port':443}", true},
	{"{'type':'view','id':1}", false},
	{"{'type':'error','id':1,'code':'x','message':'y'}", false},
	{"{'type':'hello','id':1,'protocol':7,'version':'x'}", false}, /* a second one */
	{"{'type':'status','id':1,'extra':1}", false},
	{"{'type':'status','id':1,'id':1}", false},
	{"{'type':'status','type':'status','id':1}", false},
	{"{'type':'status','id':1,'a':[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}", false},
	{"{'type':'session-close','id':1,'exit':0}", false},
	{"{'type':'publish','id':1,'session':1,'port':1,'host_port':1}", true},
	{"{'type':'publish','id':1,'session':1,'port':1}", false},
	{"{'type':'publish','id':1,'session':1,'port':'1','host_port':1}", false},
	{"{'type':'publish','id':1,'session':1,'port':1,'host_port':-1}", false},
	{"{'type':'published','id':1,'ports':[]}", false},
	{"{'type':'published','id':1,'ports':[1]}", true},
	{"{'type':'published','id':1}", true},
	{"{'type':'publishing','id':1}", true},
	{"{'type':'turn','id':1,'wanted':1}", true},
	{"{'type':'turn','id':1}", true},
	{"{'type':'held','id':1,'number':3}", false},
	{"{'type':'held','id':1,'number':-1}", true},
	{"{'type':'hold','id':1,'number':1}", true},
	{"{'type':'session-close','id':1}", true},
	{"{'type':'session-close','id':1,'exit':256}", true},
	{"{'type':'session-close','id':1,'exit':'0'}", true},
	{"{'type':'session-open','id':1," WISH "}", true}, /* a second one */
	{"{'type':'session-open','id':1}", false},
	{"{'type':'session-open','id':1," WISH ",'environment':'LANG'}", false},
	{"{'type':'session-open','id':1," WISH ",'environment':[1]}", false},
	{"{'type':'session-open','id':1," WISH ",'granted':[-1]}", false},
	{"{'type':'session-open','id':1," WISH ",'offline':'no'}", false},
	{"{'type':'session-open','id':1," WISH ",'uid':0}", false},
	{"{'type':'resolve','id':1,'paths':['/']}", false},
	{"{'type':'resolve','id':1,'paths':'/'}", true},
	{"{'type':'resolve','id':1}", true},
	{"{'type':'writable','id':1,'folders':['/']}", false},
	{"{'type':'writable','id':1,'folders':'/'}", true},
	{"{'type':'writable','id':1,'trees':[1]}", true},
	{"{'type':'roots','id':1,'found':['/']}", false},
	{"{'type':'roots','id':1,'found':'/'}", true},
	{"{'type':'roots','id':1,'gone':[1]}", true},
	{"{'type':'check','id':1,'permission':'fs:read'}", false},
	{"{'type':'check','id':1,'permission':1,'target':'/x'}", false},
	{"{'type':'check','id':1,'permission':'fs:read','target':['/x']}", false},
	{"{'type':'check','id':1,'permission':'fs:read','target':'/x','ask':1}", false},
	{"{'type':'check','id':1,'permission':'fs:read','target':'/x','session':1}", false},
	{"{'type':'check','id':1,'permission':'fs:read','target':'/x','pid':1}", false},
	{"{'type':'cancel','id':1}", false},
	{"{'type':'cancel','id':1,'check':-1}", false},
	{"{'type':'event','id':1,'kind':'repair','detail':[]}", true},
	{"{'type':'event','id':1,'kind':'repair'}", true},
	{"{'type':'event','id':1,'kind':'repair','detail':{}}", false},
	{"{'type':'grant','id':1,'permission':'fs:read','target':'/x','lifetime':'always'}", false},
	{"{'type':'grant','id':1,'permission':'fs:read','target':'/x','effect':'ask','lifetime':'always'}", false},
	{"{'type':'grant','id':1,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'eternal'}", false},
	{"{'type':'grant','id':1,'permission':'fs:read','target':'/x','effect':'allow','lifetime':'until','ttl_ms':-1}",
	 false},
	{"{'type':'revoke','id':1,'ids':[0]}", false},
	{"{'type':'revoke','id':1,'ids':['1']}", false},
	{"{'type':'revoke','id':1,'match':{'permission':'fs:read'}}", false},
	{"{'type':'revoke','id':1,'match':[]}", false},
	{"{'type':'kill','id':1,'sessions':7}", false},
	{"{'type':'list','id':1}", false},
	{"{'type':'list','id':1,'what':'grants','cursor':'x'}", false},
	{"{'type':'list','id':1,'what':'grants','filter':{'nonsense':1}}", false},
	{"{'type':'summary','id':1,'filter':{'since_ms':'x'}}", false},
	{"{'type':'summary','id':1}", false},
	{"{'type':'summary','id':1,'days':[0,1]}", false},
	{"{'type':'summary','id':1,'days':7}", false},
	{"{'type':'list','id':1,'what':'history','wait':1}", false},
	{"{'type':'verify','id':1,'cursor':-5}", false},
	{"{'type':'verify','id':1,'head':5}", false},
	{"{'type':'agent','id':1}", false},
	{"{'type':'answer','id':1,'prompt':1}", false},
	{"{'type':'answer','id':1,'prompt':1,'effect':'allow','token':5}", false},
	{"{'type':'why','id':1,'permission':'fs:read'}", false},
	{"{'type':'policy','id':1,'x':1}", false},
	{"{'type':'trust','id':1,'hash':'00'}", false},
	{"{'type':'trust','id':1,'project':'/x','hash':7}", false},
	{"{'type':'trust','id':1,'project':'/x','forget':true}", true}, /* not a runner's to say */
};

static struct peer *connect_with(bool session) {
	struct peer *peer = peer_connect(true);
	assert_non_null(peer);
	if (session) {
		peer_open_session(peer, NULL);
		json_decref(peer_push(peer, "view"));
	}
	return peer;
}

static json_t *say(struct peer *peer, const char *template) {
	CLEANUP_FREE char *text = fill(template);
	peer_send_text(peer, text, strlen(text));
	for (;;) {
		json_t *message = peer_receive(peer);
		if (!message) return NULL;
		if (strcmp(text_of(message, "type"), "view") != 0 && strcmp(text_of(message, "type"), "terminate") != 0)
			return message;
		json_decref(message);
	}
}

static void good_forms_are_answered(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		CLEANUP_PEER struct peer *peer = connect_with(good[i].session);
		json_t *reply = say(peer, good[i].body);
		if (strcmp(text_of(reply, "type"), good[i].type) != 0)
			fail_msg("%s: %s", good[i].body, text_of(reply, "message"));
		assert_int_equal(json_integer_value(json_object_get(reply, "id")), 9);
		json_decref(reply);
	}
}

static void what_can_not_be_done_is_refused_and_the_client_stays(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
		CLEANUP_PEER struct peer *peer = connect_with(refused[i].session);
		json_t *reply = say(peer, refused[i].body);
		assert_string_equal(text_of(reply, "type"), "error");
		assert_int_equal(json_integer_value(json_object_get(reply, "id")), 9);
		if (!strstr(text_of(reply, "message"), refused[i].says))
			fail_msg("%s: %s", refused[i].body, text_of(reply, "message"));
		json_decref(reply);
		reply = say(peer, "{'type':'status','id':10}");
		assert_string_equal(text_of(reply, "type"), "status");
		json_decref(reply);
	}
}

static void attack_broker_5_what_is_malformed_closes_the_client_alone(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *bystander = connect_with(true);
	for (size_t i = 0; i < ARRAY_LENGTH(malformed); i++) {
		CLEANUP_PEER struct peer *peer = connect_with(malformed[i].session);
		json_t *reply = say(peer, malformed[i].body);
		if (strcmp(text_of(reply, "type"), "error") != 0) fail_msg("%s", malformed[i].body);
		assert_true(strlen(text_of(reply, "message")) > 0);
		json_decref(reply);
		if (peer_receive(peer)) fail_msg("%s: still open", malformed[i].body);
	}
	json_t *reply = say(bystander, "{'type':'status','id':1}");
	assert_string_equal(text_of(reply, "type"), "status");
	json_decref(reply);
}

static void hello_comes_first(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = peer_connect(false);
	json_t *reply = say(peer, "{'type':'status','id':1}");
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	assert_null(peer_receive(peer));
}

static void another_protocol_is_told_which_side_to_restart(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *newer = peer_connect(false);
	json_t *reply = say(newer, "{'type':'hello','id':1,'protocol':99,'version':'9'}");
	assert_non_null(strstr(text_of(reply, "message"), "end sbxd"));
	json_decref(reply);
	assert_null(peer_receive(newer));
	CLEANUP_PEER struct peer *older = peer_connect(false);
	reply = say(older, "{'type':'hello','id':1,'protocol':3,'version':'0'}");
	assert_non_null(strstr(text_of(reply, "message"), "start this program again"));
	json_decref(reply);
}

static void attack_broker_5_bytes_that_are_no_text_are_refused(void **state) {
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
	} messages[] = {{"\0", 1},
			{"{\"type\":\"status\",\"id\":1}\0", 25},
			{"{\"type\":\"sta\xfftus\",\"id\":1}", 26},
			{"{\"type\":\"st\\u0000atus\",\"id\":1}", 30}};
	for (size_t i = 0; i < ARRAY_LENGTH(messages); i++) {
		CLEANUP_PEER struct peer *peer = connect_with(false);
		peer_send_text(peer, messages[i].bytes, messages[i].size);
		json_t *reply = peer_receive(peer);
		assert_string_equal(text_of(reply, "type"), "error");
		json_decref(reply);
		assert_null(peer_receive(peer));
	}
}

static void attack_broker_5_a_message_over_the_limit_is_refused(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = connect_with(false);
	CLEANUP_FREE char *text = string_format("{\"type\":\"status\",\"id\":1}%*s", LIMIT_MESSAGE, "");
	peer_send_text(peer, text, strlen(text));
	json_t *reply = peer_receive(peer);
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	assert_null(peer_receive(peer));
}

static void attack_broker_5_long_texts_and_lists_are_refused(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = connect_with(true);
	CLEANUP_FREE char *target = mem_array(char, LIMIT_TARGET + 2);
	memset(target, '/', 1);
	memset(target + 1, 'a', LIMIT_TARGET);
	json_t *reply = peer_call(peer, "check", json_pack("{s:s, s:s}", "permission", "fs:read", "target", target));
	assert_string_equal(text_of(reply, "code"), "E2BIG");
	json_decref(reply);
	json_t *paths = json_array();
	for (int i = 0; i < 257; i++) json_array_append_new(paths, json_string("/"));
	reply = peer_call(peer, "resolve", json_pack("{s:o}", "paths", paths));
	assert_string_equal(text_of(reply, "code"), "E2BIG");
	json_decref(reply);
}

static void attack_broker_5_descriptors_are_not_taken(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = connect_with(false);
	static const char text[] = "{\"type\":\"status\",\"id\":1}";
	assert_int_equal(passing_send(peer->fd, text, sizeof text - 1, (int[]){0, 1, 2}, 3), 0);
	json_t *reply = peer_receive(peer);
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	assert_null(peer_receive(peer));
}

static void attack_broker_5_one_process_has_so_many_connections(void **state) {
	(void)state;
	enum { TRIED = LIMIT_CLIENTS_PROCESS + 40 };
	struct peer *peers[TRIED];
	int served = 0;
	for (int i = 0; i < TRIED; i++) {
		peers[i] = peer_connect(false);
		if (!peers[i]) continue;
		peer_send(peers[i], "hello", json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", "test"));
		json_t *reply = peer_receive(peers[i]);
		served += reply != NULL;
		json_decref(reply);
	}
	assert_int_equal(served, LIMIT_CLIENTS_PROCESS);
	for (int i = 0; i < TRIED; i++) peer_free(peers[i]);
	/* They are gone: there is room again, at once or soon. */
	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end;) {
		struct peer *again = peer_connect(false);
		peer_send(again, "hello", json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", "test"));
		json_t *reply = peer_receive(again);
		bool room = reply != NULL;
		json_decref(reply);
		peer_free(again);
		if (room) return;
		usleep(10000);
	}
	fail_msg("no room after all had left");
}

static void attack_broker_5_who_does_not_read_is_closed(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *deaf = connect_with(false);
	/* Replies of a few hundred bytes each; the questions are taken while there is room for answers. */
	static const char text[] = "{\"type\":\"policy\",\"id\":1}";
	long sent = 0;
	while (sent < 200000 && send(deaf->fd, text, sizeof text - 1, MSG_NOSIGNAL) > 0) sent++;
	assert_true(sent < 200000);
	assert_true(errno == EPIPE || errno == ECONNRESET);
	CLEANUP_PEER struct peer *other = connect_with(false);
	json_t *reply = say(other, "{'type':'status','id':1}");
	assert_string_equal(text_of(reply, "type"), "status");
	json_decref(reply);
}

static void pages_fit_and_lead_to_the_end(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = connect_with(false);
	/* Control characters are six bytes each in JSON: a page can't hold a hundred of these. */
	CLEANUP_FREE char *reason = mem_array(char, LIMIT_REASON + 1);
	memset(reason, 1, LIMIT_REASON);
	for (int i = 0; i < 130; i++) {
		CLEANUP_FREE char *target = string_format("page%d.test:443", i);
		json_decref(peer_call(peer, "grant",
				      json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target",
						target, "effect", "allow", "lifetime", "always", "reason", reason)));
	}
	for (int newest = 0; newest < 2; newest++) {
		int seen = 0, pages = 0;
		json_t *cursor = json_null();
		do {
			json_t *reply = peer_call(
				peer, "list",
				json_pack("{s:s, s:o, s:b}", "what", "grants", "cursor", cursor, "newest", newest));
			assert_string_equal(text_of(reply, "type"), "list");
			size_t index;
			json_t *item;
			json_array_foreach (json_object_get(reply, "items"), index, item)
				seen += string_starts(text_of(item, "pattern"), "page");
			cursor = json_incref(json_object_get(reply, "next"));
			json_decref(reply);
			pages++;
		} while (!json_is_null(cursor));
		assert_int_equal(seen, 130);
		assert_true(pages >= 4);
	}
}

/* Names that are bytes come back as they were sent; what could fool a terminal is nothing to the broker. */
static void attack_broker_9_texts_come_back_as_they_were(void **state) {
	(void)state;
	static const char target[] = "/srv/a\x1b[31m\xe2\x80\xae\n\"\\x";
	CLEANUP_PEER struct peer *peer = connect_with(true);
	json_decref(peer_call(peer, "check",
			      json_pack("{s:s, s:s, s:b}", "permission", "fs:read", "target", target, "ask", 0)));
	json_t *reply = peer_call(
		peer, "list",
		json_pack("{s:s, s:b, s:{s:s}}", "what", "history", "newest", 1, "filter", "kind", "decision"));
	const json_t *row = json_array_get(json_object_get(reply, "items"), 0);
	assert_string_equal(text_of(row, "target"), target);
	json_decref(reply);
	/* A byte that is no UTF-8: U+F7ff for 0xff. */
	json_decref(peer_call(
		peer, "check",
		json_pack("{s:s, s:s, s:b}", "permission", "fs:read", "target", "/srv/\xef\x9f\xbf", "ask", 0)));
	reply = peer_call(
		peer, "list",
		json_pack("{s:s, s:b, s:{s:s}}", "what", "history", "newest", 1, "filter", "kind", "decision"));
	row = json_array_get(json_object_get(reply, "items"), 0);
	assert_string_equal(text_of(row, "target"), "/srv/\xef\x9f\xbf");
	json_decref(reply);
}

static int setup(void **state) {
	(void)state;
	return broker_start(NULL);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_forms_are_answered),
		cmocka_unit_test(what_can_not_be_done_is_refused_and_the_client_stays),
		cmocka_unit_test(attack_broker_5_what_is_malformed_closes_the_client_alone),
		cmocka_unit_test(hello_comes_first),
		cmocka_unit_test(another_protocol_is_told_which_side_to_restart),
		cmocka_unit_test(attack_broker_5_bytes_that_are_no_text_are_refused),
		cmocka_unit_test(attack_broker_5_a_message_over_the_limit_is_refused),
		cmocka_unit_test(attack_broker_5_long_texts_and_lists_are_refused),
		cmocka_unit_test(attack_broker_5_descriptors_are_not_taken),
		cmocka_unit_test(attack_broker_5_one_process_has_so_many_connections),
		cmocka_unit_test(attack_broker_5_who_does_not_read_is_closed),
		cmocka_unit_test(pages_fit_and_lead_to_the_end),
		cmocka_unit_test(attack_broker_9_texts_come_back_as_they_were),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, broker_teardown);
	home_remove();
	return failed;
}
