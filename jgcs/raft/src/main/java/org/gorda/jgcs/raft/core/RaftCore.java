package org.gorda.jgcs.raft.core;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongUnaryOperator;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;

/**
 * Raft: one member's part in agreeing on a log (Ongaro 2014). Pure: it is told of events, with the time, and answers through
 * {@link Effects}. Confined to one caller at a time, which must not call back from within an effect.
 *
 * <p>Beyond the dissertation's chapters 3, 4, 6.4, 9.6: {@link Standing} keeps members that have forgotten something from voting
 * with what they forgot, a group forms itself only from members that are all new, and where two are a majority a follower learns from
 * its own copy what is decided.
 */
public final class RaftCore {

    /** Stop after this many bytes of entries in one message, but send at least one entry. */
    public static final int BATCH_BYTES = 256 << 10;

    /** How many bytes of entries may be on their way to one follower. */
    public static final int WINDOW_BYTES = 4 << 20;

    /** Terms go on by less than this at once: the terms of a timeline are enough for millions of elections. */
    private static final long TERM_STEP_MAX = 1 << 16;

    private record Read(long request, long round, long index) {}

    private static final String REMOVED =
            "this member was removed from the group, or will be: stop it if the others have a leader, or add it again";

    private record Greeting(long admission, long nanos) {}

    private final MemberId self;
    private final long admission;
    private final long electionNanos;
    private final long heartbeatNanos;
    private final LongUnaryOperator random;
    private final Configuration formation;
    private final Effects effects;
    private final Effects.Log log;

    private final Terms terms = new Terms();
    private long run;
    private Standing standing;
    private long term;
    private @Nullable MemberId votedFor;
    private Role role = Role.FOLLOWER;
    private @Nullable MemberId leader;

    /** Configurations by the index of their entry; the last is in force (section 4.1), the first is that of the checkpoint. */
    private final TreeMap<Long, Configuration> configurations = new TreeMap<>();

    /** The newest configuration that this member had stored, where it has lost the end of its log with it: in force until the log is as long again. */
    private @Nullable Entry lostConfiguration;

    private long commitIndex;
    private long toldCommit;
    private long storedIndex;
    private long generation;

    // Follower
    private long verifiedIndex;
    private long leaderStoredIndex;
    private long countedIndex;
    private long leaderRound;

    /** The leader has sent what it waits for no answer to: the next tick brings it, unless something else does before. */
    private boolean owesAnswer;

    private long unansweredBytes;
    private long answeredIndex;
    private long contactNanos;
    private long decidedAtContact;
    private long electionDeadlineNanos;
    private boolean leaderSuspected;

    /** The members, as one of them has told a member that did not know of their leader; empty once there is one. */
    private Configuration hearsay = Configuration.EMPTY;

    // Candidate
    private final Map<MemberId, Boolean> votes = new LinkedHashMap<>();
    private boolean campaignByTransfer;

    // Leader
    private final Map<MemberId, Peer> peers = new LinkedHashMap<>();
    private final Deque<Read> reads = new ArrayDeque<>();
    private long termStartIndex;
    private long round;
    private long heartbeatDueNanos;

    /** When the next round of catching up begins (section 4.2.1), what was decided when this one began, and when the one before did. */
    private long catchUpDueNanos;

    private long decidedAtCatchUp;
    private long decidedBefore;
    private long quorumDueNanos;

    /** What this leader has to have stored by then. */
    private long awaitedIndex;

    private long storeDueNanos;
    private @Nullable MemberId transferTo;
    private long transferDeadlineNanos;

    // Fresh
    private boolean forms = true;

    /** The last ones of those that were new then. Who greets no more may belong to a group since. */
    private final Map<MemberId, Greeting> freshMembers = new LinkedHashMap<>();

    private long helloDueNanos;

    /**
     * @param admission this directory's number, drawn at random when it was created
     * @param configured who forms the group if there is none yet
     * @param random draws a number from 0 to below its argument
     */
    public RaftCore(
            MemberId self,
            long admission,
            List<MemberId> configured,
            long electionTimeoutNanos,
            LongUnaryOperator random,
            Effects effects,
            Effects.Log log) {
        this.self = self;
        this.admission = admission;
        this.electionNanos = electionTimeoutNanos;
        this.heartbeatNanos = electionTimeoutNanos / 10;
        this.random = random;
        this.effects = effects;
        this.log = log;
        this.standing = Standing.FRESH;
        this.formation = new Configuration(
                GroupId.UNKNOWN,
                0,
                configured.stream()
                        .map(id -> new Configuration.Member(id, 0, true))
                        .toList());
        configurations.put(0L, Configuration.EMPTY);
    }

    /**
     * Takes up what the disk holds, before {@link #start}: the checkpoint.
     *
     * @param formed the configuration given to {@link Effects#admitted}, if ever
     */
    public void recover(Checkpoint checkpoint, Configuration formed) {
        terms.reset(checkpoint.index(), checkpoint.term());
        configurations.clear();
        configurations.put(checkpoint.index(), checkpoint.index() == 0 ? formed : checkpoint.configuration());
    }

    /** Takes up what the disk holds, before {@link #start}: the entries after the checkpoint, one by one. */
    public void recover(Entry entry) {
        terms.append(entry.index(), entry.term());
        adopt(entry);
    }

    /** Takes up what the disk has beside the log, before {@link #start}: the newest configuration, if the log has lost it. */
    public void lost(@Nullable Entry newestConfiguration) {
        lostConfiguration = newestConfiguration;
    }

    /** Has it wait for a group that exists, before {@link #start}: it forms none. */
    public void formsNone() {
        forms = false;
    }

    /**
     * Starts with what was recovered, all of which counts as stored.
     *
     * @param thisRun numbers the runs of this member under its admission; higher than all before
     */
    public void start(long nowNanos, long thisRun, Standing atStart, long savedTerm, @Nullable MemberId savedVote) {
        if (terms.lastTerm() > savedTerm) {
            throw new IllegalStateException(
                    "the log's last term " + terms.lastTerm() + " is beyond the saved term " + savedTerm);
        }
        run = thisRun;
        standing = atStart;
        term = savedTerm;
        votedFor = savedVote;
        commitIndex = terms.baseIndex();
        toldCommit = commitIndex;
        storedIndex = terms.lastIndex();
        contactNanos = nowNanos - electionNanos;
        awaitElection(nowNanos);
        if (standing == Standing.FRESH) {
            hello(nowNanos);
        } else if (isVoter() && configuration().voters() == 1) {
            campaign(nowNanos, false);
        }
        effects.changed();
    }

    /**
     * Has this run go by a higher number: there was an earlier one, of a directory that is gone, which had a higher number than it by the clock of that time. Leaders
     * that have heard of that take this one for the later one only now.
     */
    public void renumber(long higher) {
        run = higher;
        countedIndex = 0;
    }

    // ---------------------------------------------------------------------------------------------- what is known

    public Role role() {
        return role;
    }

    public long term() {
        return term;
    }

    public Standing standing() {
        return standing;
    }

    public @Nullable MemberId leader() {
        return leader;
    }

    public long commitIndex() {
        return commitIndex;
    }

    public long lastIndex() {
        return terms.lastIndex();
    }

    /**
     * Everything up to here is on this member's disk as the durability demands, and will be decided unless another member leads before a majority
     * has it. 0 while this member does not lead, or cannot yet.
     */
    public long heldIndex() {
        return role == Role.LEADER && commitIndex >= termStartIndex ? storedIndex : 0;
    }

    /** The term of an entry, or -1 if the log does not hold it. */
    public long termAt(long index) {
        return terms.at(index);
    }

    /** The configuration in force, committed or not. */
    public Configuration configuration() {
        Entry lost = lostConfiguration;
        return lost != null && !lost.isWithin(terms.lastTerm(), terms.lastIndex())
                ? Configuration.decode(lost.payload())
                : configurations.lastEntry().getValue();
    }

    /** The configuration that was in force at {@code index}, which must not lie before the checkpoint. */
    public Configuration configurationAt(long index) {
        Map.Entry<Long, Configuration> found = configurations.floorEntry(index);
        if (found == null) {
            throw new IllegalStateException("no configuration at " + index);
        }
        return found.getValue();
    }

    /** Whom the group has as members, as others say of it; empty while there is a leader. They may know who it is. */
    public List<MemberId> hearsay() {
        return hearsay.members().stream().map(Configuration.Member::id).toList();
    }

    /** Whether a proposal made now would be ordered. */
    public boolean acceptsProposals() {
        return role == Role.LEADER && transferTo == null;
    }

    /** Whether a tick is wanted soon, to answer the leader. */
    public boolean owesAnswer() {
        return owesAnswer;
    }

    /** Changes with each truncation, so that a store of entries since truncated is not taken for one of their successors. */
    public long generation() {
        return generation;
    }

    public View view(long nowNanos) {
        Configuration current = configuration();
        boolean working = role == Role.LEADER
                ? commitIndex >= termStartIndex
                : leader != null && !leaderSuspected && nowNanos - contactNanos < electionNanos;
        return new View(
                current.ids(true),
                current.ids(false),
                java.util.Optional.ofNullable(leader),
                working && isMember(),
                role == Role.LEADER ? termStartIndex : decidedAtContact);
    }

    /** Whether this member, under its admission, belongs to the group. */
    public boolean isMember() {
        return standing != Standing.FRESH && isIn(configuration());
    }

    private boolean isIn(Configuration some) {
        Configuration.Member me = some.member(self);
        return me != null && me.admission() == admission;
    }

    private boolean isVoter() {
        return isMember() && configuration().isVoter(self);
    }

    /**
     * Section 4.2.2: who is left out by a configuration that may not be decided yet may be needed to decide it. Any but the newest may be the one that is
     * decided: after a start it is not known how far the log is.
     */
    private boolean mayLead() {
        return standing != Standing.FRESH
                && (isVoter()
                        || configurations.tailMap(configurations.floorKey(commitIndex), true).values().stream()
                                .anyMatch(some -> isIn(some) && some.isVoter(self)));
    }

    /** What a person should know while there is no leader. */
    public String explain() {
        if (standing == Standing.FRESH && !forms) {
            return "waits for a member that has taken part in the group, and forms none";
        }
        if (standing == Standing.FRESH) {
            List<String> missing = new ArrayList<>();
            for (Configuration.Member member : formation.members()) {
                if (!member.id().equals(self) && !freshMembers.containsKey(member.id())) {
                    missing.add(member.id().name());
                }
            }
            return "the group is formed when all its members have been started: waiting for "
                    + String.join(", ", missing)
                    + ". If it is there already, this member has to be added to it";
        }
        if (!isMember()) {
            boolean wasMember = configurations.values().stream().anyMatch(this::isIn);
            return wasMember || (terms.lastIndex() > 0 && leader == null)
                    ? REMOVED
                    : "this member's directory is new to the group: waiting for the leader to take it in;"
                            + " if most members' directories are new, there is none, and 'gorda recover' helps where one is not";
        }
        if (role == Role.LEADER) {
            return "leads term " + term;
        }
        if (leader != null) {
            return "follows " + leader + " in term " + term
                    + (standing == Standing.UNCERTAIN ? "; the end of this member's log may be lost" : "");
        }
        if (!hearsay.members().isEmpty() && !isIn(hearsay)) {
            return REMOVED;
        }
        String text = "no leader in term " + term + ": " + configuration().majority() + " of "
                + configuration().voters()
                + " members must be reachable, with the directories that they have taken part with";
        String uncertain = uncertain();
        return uncertain.isEmpty()
                ? text
                : text + " and whole logs, or all " + configuration().voters() + " of them: the end of the log of "
                        + uncertain + " may be lost. If one does not come back, see 'gorda recover'";
    }

    /** Those, as far as is known, whose votes count only if nobody's is missing. */
    private String uncertain() {
        Set<String> uncertain = new TreeSet<>();
        if (standing == Standing.UNCERTAIN) {
            uncertain.add(self.name());
        }
        votes.forEach((voter, lost) -> {
            if (lost) {
                uncertain.add(voter.name());
            }
        });
        return String.join(", ", uncertain);
    }

    // ------------------------------------------------------------------------------------------------------ events

    /**
     * Time has passed. To be called every hundredth of the election timeout, that is ten times per heartbeat; not before {@link #nextTickNanos}
     * while nothing is committed, there is a leader that is {@linkplain #owesAnswer owed} nothing, and nobody is suspected.
     */
    public void tick(long nowNanos) {
        if (role == Role.LEADER) {
            tickLeader(nowNanos);
            return;
        }
        if (!isMember() && nowNanos >= helloDueNanos) {
            hello(nowNanos);
        }
        if (owesAnswer && leader != null && acknowledged() > answeredIndex) {
            answer(leader);
            owesAnswer = storedIndex < verifiedIndex;
        }
        if (mayLead() && nowNanos >= electionDeadlineNanos) {
            preCampaign(nowNanos);
        }
    }

    /** When a tick has something to do next, as long as nothing happens: each wakes a processor. */
    public long nextTickNanos(long nowNanos) {
        return role == Role.LEADER ? heartbeatDueNanos : owesAnswer ? nowNanos : nowNanos + heartbeatNanos;
    }

    /** The connection to a member was closed: it may be dead. Only a hint. */
    public void suspect(long nowNanos, MemberId member) {
        if (role == Role.LEADER) {
            Peer peer = peers.get(member);
            if (peer != null) {
                // One that has not answered yet is sought where it was sought before.
                peer.probe(peer.match > 0 ? peer.match + 1 : peer.next);
                // It may have been waited for alone.
                for (Peer other : peers.values()) {
                    if (!other.probing) {
                        heartbeat(nowNanos, other);
                    }
                }
            }
        } else if (member.equals(leader)) {
            leaderSuspected = true;
            electionDeadlineNanos = Math.min(electionDeadlineNanos, nowNanos + random(electionNanos / 50));
            effects.changed();
        }
    }

    /** Entries up to {@code index}, appended under {@code ofGeneration}, are on disk as the durability demands. */
    public void stored(long nowNanos, long ofGeneration, long index) {
        if (ofGeneration == generation) {
            storedUpTo(nowNanos, Math.min(index, terms.lastIndex()));
        }
    }

    private void storedUpTo(long nowNanos, long index) {
        if (index <= storedIndex) {
            return;
        }
        storedIndex = index;
        if (role == Role.LEADER) {
            advanceCommit(nowNanos);
            confirmReads(nowNanos);
        } else if (leader != null && verifiedIndex > 0) {
            if (!owesAnswer) {
                answer(leader);
            }
            decideWithLeader();
        }
        tellCommit();
    }

    /**
     * Entries that this leader's shell has encoded with {@link #term} and the indices that follow {@link #lastIndex}.
     *
     * @throws IllegalStateException unless {@link #acceptsProposals}
     */
    public void propose(long nowNanos, List<Entry> entries) {
        if (!acceptsProposals()) {
            throw new IllegalStateException("a proposal to a " + role);
        }
        appendAsLeader(nowNanos, entries);
    }

    /**
     * Proposes to change one member (section 4.1).
     *
     * @return the index of the change, or -1 if this member cannot make one now: it does not lead, has committed nothing in its
     *     term yet, another change is under way, or too few of those that would have to decide it answer
     */
    public long change(long nowNanos, Configuration next) {
        if (!acceptsProposals()
                || commitIndex < termStartIndex
                || configurations.lastKey() > commitIndex
                || !isAnsweredByMajority(nowNanos, next, true)) {
            return -1;
        }
        long index = terms.lastIndex() + 1;
        appendAsLeader(nowNanos, List.of(Entry.of(term, index, Entry.Kind.CONFIGURATION, next.encode())));
        return index;
    }

    /** Hands leadership to {@code member} once it has caught up (section 3.10). False if this member does not lead. */
    public boolean transfer(long nowNanos, MemberId member) {
        if (role != Role.LEADER || !configuration().isVoter(member)) {
            return false;
        }
        if (!member.equals(self)) {
            transferTo = member;
            transferDeadlineNanos = nowNanos + electionNanos;
            effects.changed();
            continueTransfer();
        }
        return true;
    }

    /** Asks from where on a read sees all that was decided before; answered by {@link Effects#readable} (section 6.4). */
    public void read(long nowNanos, long request) {
        if (role != Role.LEADER) {
            effects.unreadable(request);
            return;
        }
        boolean idle = reads.isEmpty();
        // Followers may have decided what is stored here before this leader knows of it.
        long mayBeDecided = Math.max(Math.max(commitIndex, storedIndex), termStartIndex);
        reads.addLast(new Read(request, round + 1, mayBeDecided));
        if (idle) {
            startRound(nowNanos);
        }
    }

    /** Entries that {@link Effects#fetch} asked for. Empty if they are not held any more. */
    public void fetched(long nowNanos, MemberId forMember, List<Entry> entries) {
        Peer peer = peers.get(forMember);
        if (role != Role.LEADER || peer == null || !peer.fetching) {
            return;
        }
        peer.fetching = false;
        // Read at another time: the log may have been cut and replaced, or compacted, since. Where the last is still
        // there, so is what precedes it.
        Entry last = entries.isEmpty() ? null : entries.get(entries.size() - 1);
        if (last != null
                && entries.get(0).index() == peer.next
                && peer.next > terms.baseIndex()
                && terms.at(last.index()) == last.term()) {
            sendEntries(nowNanos, peer, entries);
        }
        replicate(nowNanos, peer);
    }

    /** Everything up to {@code index} is covered by a checkpoint and no longer held. */
    public void compacted(long index) {
        if (index <= terms.baseIndex()) {
            return;
        }
        if (index > commitIndex) {
            throw new IllegalStateException("compaction at " + index + " beyond the commit index " + commitIndex);
        }
        Configuration base = configurationAt(index);
        terms.compact(index);
        configurations.headMap(index, true).clear();
        configurations.put(index, base);
    }

    /**
     * A message has arrived.
     *
     * @param fromAdmission under which the sender speaks
     * @param fromRun numbers the runs of the sender under that admission
     */
    public void receive(long nowNanos, MemberId from, long fromAdmission, long fromRun, RaftMessage message) {
        if (message instanceof RaftMessage.Hello hello) {
            Peer greeted = peers.get(from);
            if (greeted == null || greeted.heard(fromAdmission, fromRun)) {
                onHello(nowNanos, from, fromAdmission, hello);
            }
            return;
        }
        if (standing == Standing.FRESH) {
            if (message instanceof RaftMessage.Append || message instanceof RaftMessage.Install) {
                join(nowNanos, Configuration.EMPTY);
            } else {
                return;
            }
        }
        Peer peer = peers.get(from);
        if (peer != null && !peer.heard(fromAdmission, fromRun)) {
            return;
        }
        if (message instanceof RaftMessage.Append append) {
            onAppend(nowNanos, from, append);
        } else if (message instanceof RaftMessage.AppendReply reply) {
            onAppendReply(nowNanos, from, reply);
        } else if (message instanceof RaftMessage.VoteRequest request) {
            onVoteRequest(nowNanos, from, request);
        } else if (message instanceof RaftMessage.VoteReply reply) {
            onVoteReply(nowNanos, from, fromAdmission, reply);
        } else if (message instanceof RaftMessage.Install install) {
            onInstall(nowNanos, from, install);
        } else if (message instanceof RaftMessage.TimeoutNow timeout
                && timeout.term() == term
                && role == Role.FOLLOWER
                && isVoter()) {
            // Under this admission: a member that has forgotten everything must not count its own vote.
            campaign(nowNanos, true);
        }
    }

    // --------------------------------------------------------------------------------------------------- formation

    private void hello(long nowNanos) {
        helloDueNanos = nowNanos + electionNanos / 4;
        forgetGreetings(nowNanos);
        if (standing == Standing.FRESH && forms && formation.members().size() == 1 && formation.isVoter(self)) {
            form(nowNanos);
            return;
        }
        RaftMessage.Hello hello = greeting(false);
        for (Configuration.Member member : formation.members()) {
            if (!member.id().equals(self)) {
                effects.send(member.id(), hello);
            }
        }
    }

    private RaftMessage.Hello greeting(boolean answer) {
        boolean fresh = standing == Standing.FRESH;
        Configuration known = !fresh ? configuration() : forms ? formation : Configuration.EMPTY;
        return new RaftMessage.Hello(term, fresh, known, answer);
    }

    private void onHello(long nowNanos, MemberId from, long fromAdmission, RaftMessage.Hello hello) {
        if (!hello.answer()) {
            effects.send(from, greeting(true));
        }
        if (standing != Standing.FRESH) {
            hear(from, hello);
            return;
        }
        if (!hello.fresh()) {
            // The group exists. Either its members counted this new directory when they formed it, or it must be taken
            // in.
            Configuration.Member me = hello.configuration().member(self);
            boolean counted = me != null && me.admission() == admission && me.voter();
            join(nowNanos, counted ? hello.configuration() : Configuration.EMPTY);
        } else if (forms
                && formation.member(from) != null
                && hello.configuration().ids(true).equals(formation.ids(true))) {
            freshMembers.put(from, new Greeting(fromAdmission, nowNanos));
            form(nowNanos);
        } else {
            freshMembers.remove(from);
        }
    }

    /** Who was away while members were added and removed may have a leader that it does not know. */
    private void hear(MemberId from, RaftMessage.Hello hello) {
        boolean isKnown = configuration().member(from) != null || formation.member(from) != null;
        if (leader == null
                && isKnown
                && !hello.fresh()
                && !hello.configuration().equals(hearsay)) {
            hearsay = hello.configuration();
            effects.changed();
        }
    }

    /** Members that are new greet eight times in that time. */
    private void forgetGreetings(long nowNanos) {
        freshMembers.values().removeIf(greeting -> nowNanos - greeting.nanos() > 2 * electionNanos);
    }

    private void form(long nowNanos) {
        forgetGreetings(nowNanos);
        List<Configuration.Member> members = new ArrayList<>();
        for (Configuration.Member member : formation.members()) {
            Greeting greeting =
                    member.id().equals(self) ? new Greeting(admission, nowNanos) : freshMembers.get(member.id());
            if (greeting == null) {
                return;
            }
            members.add(new Configuration.Member(member.id(), greeting.admission(), true));
        }
        join(nowNanos, new Configuration(GroupId.UNKNOWN, 0, members));
        if (members.size() == 1) {
            campaign(nowNanos, false);
        }
    }

    private void join(long nowNanos, Configuration configuration) {
        effects.admitted(configuration);
        standing = Standing.CERTAIN;
        configurations.clear();
        configurations.put(0L, configuration);
        electionDeadlineNanos = nowNanos + random(electionNanos / 4);
        effects.changed();
    }

    // --------------------------------------------------------------------------------------------------- elections

    private void awaitElection(long nowNanos) {
        // A closed connection to the leader is a strong hint, so that retries are quick; otherwise the leader is given
        // time.
        electionDeadlineNanos = nowNanos
                + (leaderSuspected
                        ? electionNanos / 50 + random(electionNanos / 25)
                        : electionNanos + random(electionNanos));
    }

    private void preCampaign(long nowNanos) {
        role = Role.PRE_CANDIDATE;
        leader = null;
        votes.clear();
        awaitElection(nowNanos);
        effects.changed();
        requestVotes(nowNanos, term + 1, true);
    }

    private void campaign(long nowNanos, boolean byTransfer) {
        role = Role.CANDIDATE;
        leader = null;
        campaignByTransfer = byTransfer;
        enterTerm(nextTerm(), self);
        votes.clear();
        awaitElection(nowNanos);
        effects.changed();
        requestVotes(nowNanos, term, false);
    }

    /**
     * Members that were restored from an old copy have forgotten terms, and might lead one again that another has led: its entries would be taken for those
     * of the other. So terms are drawn, all but the first.
     */
    private long nextTerm() {
        return term == 0 ? 1 : term + 1 + random(TERM_STEP_MAX);
    }

    private void requestVotes(long nowNanos, long forTerm, boolean pre) {
        RaftMessage.VoteRequest request = new RaftMessage.VoteRequest(
                forTerm, terms.lastIndex(), terms.lastTerm(), pre, !pre && campaignByTransfer);
        for (Configuration.Member member : configuration().members()) {
            if (member.voter() && !member.id().equals(self)) {
                effects.send(member.id(), request);
            }
        }
        if (isVoter()) {
            countVote(nowNanos, self, standing == Standing.UNCERTAIN);
        }
    }

    private void onVoteRequest(long nowNanos, MemberId from, RaftMessage.VoteRequest request) {
        // Section 4.2.3: who hears from a leader does not let others disturb it.
        boolean leaderAlive = role == Role.LEADER
                || (leader != null
                        && !leader.equals(from)
                        && !leaderSuspected
                        && nowNanos - contactNanos < electionNanos);
        // ADR 2: who has lost a configuration elects nobody who may not know of it, and would count those of an older
        // one.
        boolean upToDate = (request.lastTerm() > terms.lastTerm()
                        || (request.lastTerm() == terms.lastTerm() && request.lastIndex() >= terms.lastIndex()))
                && (lostConfiguration == null || lostConfiguration.isWithin(request.lastTerm(), request.lastIndex()));
        boolean uncertain = standing == Standing.UNCERTAIN;
        if (request.pre()) {
            boolean granted = request.term() > term && upToDate && !leaderAlive;
            effects.send(from, new RaftMessage.VoteReply(granted ? request.term() : term, granted, true, uncertain));
            if (leaderAlive) {
                effects.send(from, greeting(true)); // it may not know the leader, or not be a member any more
            }
            return;
        }
        if (leaderAlive && !request.transfer()) {
            effects.send(from, new RaftMessage.VoteReply(term, false, false, uncertain));
            return;
        }
        if (request.term() > term) {
            follow(nowNanos, request.term(), null);
        }
        boolean granted = request.term() == term && upToDate && (votedFor == null || votedFor.equals(from));
        if (granted && votedFor == null) {
            votedFor = from;
            effects.persist(term, from);
            awaitElection(nowNanos);
        }
        effects.send(from, new RaftMessage.VoteReply(term, granted, false, uncertain));
    }

    private void onVoteReply(long nowNanos, MemberId from, long fromAdmission, RaftMessage.VoteReply reply) {
        if (reply.term() > term && !(reply.pre() && reply.granted())) {
            follow(nowNanos, reply.term(), null);
            return;
        }
        Configuration.Member voter = configuration().member(from);
        boolean counts = voter != null && voter.voter() && voter.admission() == fromAdmission;
        boolean asked = reply.pre()
                ? role == Role.PRE_CANDIDATE && reply.term() == term + 1
                : role == Role.CANDIDATE && reply.term() == term;
        if (counts && asked && reply.granted()) {
            countVote(nowNanos, from, reply.uncertain());
        }
    }

    private void countVote(long nowNanos, MemberId voter, boolean uncertain) {
        votes.put(voter, uncertain);
        long certain = votes.values().stream().filter(lost -> !lost).count();
        // Members that lost the end of their logs can still elect the longest of what is left, if nobody is missing.
        boolean won = certain >= configuration().majority()
                || votes.size() == configuration().voters();
        if (won && role == Role.PRE_CANDIDATE) {
            campaign(nowNanos, false);
        } else if (won && role == Role.CANDIDATE) {
            lead(nowNanos);
        }
    }

    private void lead(long nowNanos) {
        role = Role.LEADER;
        leader = self;
        leaderSuspected = false;
        lostConfiguration = null;
        becomeCertain();
        peers.clear();
        reads.clear();
        transferTo = null;
        catchUpDueNanos = nowNanos;
        decidedAtCatchUp = Long.MAX_VALUE;
        decidedBefore = Long.MAX_VALUE;
        termStartIndex = terms.lastIndex() + 1;
        quorumDueNanos = nowNanos + electionNanos;
        awaitedIndex = 0;
        syncPeers(nowNanos);
        Entry first = termStartIndex == 1
                ? Entry.of(term, 1, Entry.Kind.CONFIGURATION, withIdentity().encode())
                : Entry.of(term, termStartIndex, Entry.Kind.NO_OP, new byte[0]);
        startRound(nowNanos);
        appendAsLeader(nowNanos, List.of(first));
        effects.changed();
    }

    private Configuration withIdentity() {
        GroupId identity = new GroupId(1 + random(Long.MAX_VALUE - 1), random(Long.MAX_VALUE));
        return new Configuration(identity, 0, configuration().members());
    }

    /** What was found equal to an older leader's log need not be equal to that of this term's leader. */
    private void enterTerm(long newTerm, @Nullable MemberId vote) {
        term = newTerm;
        votedFor = vote;
        verifiedIndex = 0;
        leaderStoredIndex = 0;
        leaderRound = 0;
        owesAnswer = false;
        unansweredBytes = 0;
        answeredIndex = 0;
        countedIndex = 0;
        effects.persist(term, vote);
    }

    private void follow(long nowNanos, long newTerm, @Nullable MemberId newLeader) {
        boolean changed = newTerm > term || role != Role.FOLLOWER || !java.util.Objects.equals(leader, newLeader);
        if (newTerm > term) {
            enterTerm(newTerm, null);
        }
        if (role == Role.LEADER) {
            reads.forEach(read -> effects.unreadable(read.request()));
            reads.clear();
            peers.clear();
            transferTo = null;
            verifiedIndex = 0;
        }
        if (role != Role.FOLLOWER || (leader != null && newLeader == null)) {
            awaitElection(nowNanos);
        }
        role = Role.FOLLOWER;
        leader = newLeader;
        if (changed) {
            effects.changed();
        }
    }

    private void becomeCertain() {
        if (standing == Standing.UNCERTAIN) {
            standing = Standing.CERTAIN;
            effects.certain();
        }
    }

    // ---------------------------------------------------------------------------------------------------- follower

    /** False if the message is of an older term. */
    private boolean heardFromLeader(long nowNanos, MemberId from, long leaderTerm, long decided) {
        if (leaderTerm < term) {
            return false;
        }
        if (leaderTerm == term && role == Role.LEADER) {
            throw new IllegalStateException("two leaders in term " + term + ": " + self + " and " + from);
        }
        boolean wasOutOfTouch = leaderSuspected || nowNanos - contactNanos >= electionNanos;
        if (wasOutOfTouch || !from.equals(leader)) {
            decidedAtContact = decided;
        }
        leaderSuspected = false;
        contactNanos = nowNanos;
        hearsay = Configuration.EMPTY;
        follow(nowNanos, leaderTerm, from);
        awaitElection(nowNanos);
        if (wasOutOfTouch) {
            effects.changed();
        }
        return true;
    }

    /** Tells the leader of an earlier term of this one. Its round is not echoed: it may lead this term by now, in another run, and has not come so far. */
    private void refuse(MemberId from, long prevIndex) {
        effects.send(from, new RaftMessage.AppendReply(term, false, 0, prevIndex, 0, 0));
    }

    private void onAppend(long nowNanos, MemberId from, RaftMessage.Append append) {
        if (!heardFromLeader(nowNanos, from, append.term(), append.commitIndex())) {
            refuse(from, append.prevIndex());
            return;
        }
        leaderRound = append.round();
        long prevIndex = append.prevIndex();
        requireCommitted(prevIndex, append.prevTerm());
        // What a checkpoint covers was committed, so it equals the leader's log there.
        if (prevIndex > terms.lastIndex()
                || (prevIndex >= terms.baseIndex() && terms.at(prevIndex) != append.prevTerm())) {
            long held = Math.max(terms.at(prevIndex), 0);
            long suggestion = held == 0 ? terms.lastIndex() + 1 : terms.firstIndexOfTermAt(prevIndex);
            effects.send(from, new RaftMessage.AppendReply(term, false, suggestion, prevIndex, held, append.round()));
            return;
        }
        List<Entry> entries = append.entries();
        int known = 0;
        while (known < entries.size()) {
            Entry entry = entries.get(known);
            if (entry.index() != prevIndex + known + 1) {
                throw new CorruptEntryException("entry " + entry + " does not follow " + (prevIndex + known));
            }
            requireCommitted(entry.index(), entry.term());
            if (entry.index() > terms.baseIndex() && terms.at(entry.index()) != entry.term()) {
                break;
            }
            known++;
        }
        for (Entry entry : entries) {
            unansweredBytes += entry.length();
        }
        owesAnswer = !append.urgent() && unansweredBytes < BATCH_BYTES;
        boolean appended = known < entries.size();
        boolean stored = appended && appendAsFollower(known == 0 ? entries : entries.subList(known, entries.size()));
        long matched = prevIndex + entries.size();
        verifiedIndex = Math.max(Math.max(verifiedIndex, matched), terms.baseIndex());
        leaderStoredIndex = Math.max(leaderStoredIndex, append.storedIndex());
        if (stored) {
            storedUpTo(nowNanos, terms.lastIndex());
        } else if (!appended) {
            answer(from);
        }
        if (append.run() == run) {
            findCertainty(append);
        }
        // Figure 3.1: at most the last entry this message proved to match.
        commitIndex = Math.max(commitIndex, Math.min(append.commitIndex(), matched));
        decideWithLeader();
        tellCommit();
    }

    /**
     * What this member acknowledged and lost has been counted for nothing that lies beyond the commit index of a leader that has heard of this run,
     * or, by this member itself ({@link #decideWithLeader}), beyond what that leader had stored by then; and once it has committed in its own term,
     * for nothing that was decided under its predecessors either.
     */
    private void findCertainty(RaftMessage.Append append) {
        if (countedIndex == 0) {
            countedIndex = Math.max(append.commitIndex(), append.storedIndex());
        }
        if (acknowledged() >= Math.max(countedIndex, append.commitIndex()) && terms.at(append.commitIndex()) == term) {
            becomeCertain();
        }
    }

    /**
     * Where two are a majority, what this member and its leader have stored is decided: an entry of this term is as soon as a majority has it
     * (section 3.6.2), not only when the leader knows. So a follower need not wait until the leader has heard of it and told.
     */
    private void decideWithLeader() {
        long both = Math.min(leaderStoredIndex, acknowledged());
        if (both > commitIndex
                && role == Role.FOLLOWER
                && terms.at(both) == term
                && leader != null
                && isMember()
                && decidesWith(leader, self)) {
            commitIndex = both;
        }
    }

    /** Whether a leader and one follower are a majority. */
    private boolean decidesWith(MemberId leading, MemberId follower) {
        Configuration current = configuration();
        return current.majority() == 2 && current.isVoter(leading) && current.isVoter(follower);
    }

    /**
     * What is committed here must be in the leader's log. Of what a checkpoint covers only the last entry's term is known, which no entry before it can
     * exceed: so who has committed more than its leader ever had learns it by the first entry of that one's term.
     */
    private void requireCommitted(long index, long ofTerm) {
        if (index > commitIndex) {
            return;
        }
        long held = Math.max(index, terms.baseIndex());
        if (held == index ? terms.at(held) != ofTerm : ofTerm > terms.at(held)) {
            throw new GroupException(
                    GroupException.Disposition.STOP,
                    "entry " + ofTerm + "." + index + " of the leader conflicts with " + terms.at(held) + "." + held
                            + ", which is committed here (commit index " + commitIndex
                            + "): either this member or those that lead were restored from an older copy, or have lost what they"
                            + " had stored. Stop all, and keep all directories and databases until 'gorda recover' on each"
                            + " has shown how far it has come: either side's may be all that is left");
        }
    }

    private boolean appendAsFollower(List<Entry> entries) {
        long from = entries.get(0).index();
        if (from <= terms.lastIndex()) {
            generation++;
            terms.truncate(from);
            storedIndex = Math.min(storedIndex, from - 1);
            verifiedIndex = Math.min(verifiedIndex, from - 1);
            configurations.tailMap(from, true).clear();
            effects.truncate(from);
        }
        for (Entry entry : entries) {
            terms.append(entry.index(), entry.term());
            adopt(entry);
        }
        return effects.append(entries);
    }

    private void adopt(Entry entry) {
        if (entry.kind() == Entry.Kind.CONFIGURATION) {
            configurations.put(entry.index(), Configuration.decode(entry.payload()));
            effects.changed();
        }
    }

    private void answer(MemberId leading) {
        owesAnswer = false;
        unansweredBytes = 0;
        answeredIndex = acknowledged();
        effects.send(leading, new RaftMessage.AppendReply(term, true, answeredIndex, 0, 0, leaderRound));
    }

    private long acknowledged() {
        return Math.max(Math.min(verifiedIndex, storedIndex), terms.baseIndex());
    }

    private void onInstall(long nowNanos, MemberId from, RaftMessage.Install install) {
        if (!heardFromLeader(
                nowNanos, from, install.term(), install.checkpoint().index())) {
            refuse(from, 0);
            return;
        }
        leaderRound = install.round();
        Checkpoint checkpoint = install.checkpoint();
        requireCommitted(checkpoint.index(), checkpoint.term());
        if (checkpoint.index() > commitIndex && terms.at(checkpoint.index()) == checkpoint.term()) {
            // Section 5.1: what follows an entry that is held is kept; the leader may count it when a late answer
            // arrives.
            verifiedIndex = Math.max(verifiedIndex, checkpoint.index());
            commitIndex = checkpoint.index();
            tellCommit();
        } else if (checkpoint.index() > commitIndex) {
            generation++;
            terms.reset(checkpoint.index(), checkpoint.term());
            configurations.clear();
            configurations.put(checkpoint.index(), checkpoint.configuration());
            commitIndex = checkpoint.index();
            toldCommit = commitIndex;
            storedIndex = commitIndex;
            verifiedIndex = commitIndex;
            effects.install(checkpoint);
            effects.changed();
        }
        // It is committed here now, and so equal to the leader's: the leader must learn that, or it sends the
        // checkpoint again.
        verifiedIndex = Math.max(Math.max(verifiedIndex, checkpoint.index()), terms.baseIndex());
        answer(from);
    }

    private void tellCommit() {
        long decided = Math.min(commitIndex, storedIndex);
        if (decided > toldCommit) {
            toldCommit = decided;
            effects.commit(decided);
        }
    }

    // ------------------------------------------------------------------------------------------------------ leader

    private void appendAsLeader(long nowNanos, List<Entry> entries) {
        for (Entry entry : entries) {
            if (entry.term() != term) {
                throw new IllegalStateException("entry " + entry + " proposed in term " + term);
            }
            terms.append(entry.index(), entry.term());
            adopt(entry);
        }
        if (effects.append(entries)) {
            storedIndex = terms.lastIndex();
        }
        // Section 10.2.1: where entries are forced, followers do while this leader does.
        for (Peer peer : peers.values()) {
            if (!peer.probing && peer.next == entries.get(0).index() && peer.hasRoom(WINDOW_BYTES)) {
                sendEntries(nowNanos, peer, entries);
            } else {
                replicate(nowNanos, peer);
            }
        }
        if (entries.get(0).kind() == Entry.Kind.CONFIGURATION) {
            syncPeers(nowNanos);
        }
        if (configuration().majority() == 1) {
            advanceCommit(nowNanos);
        }
    }

    /** Makes the peers those of the configuration in force. */
    private void syncPeers(long nowNanos) {
        Configuration current = configuration();
        peers.keySet().removeIf(id -> current.member(id) == null);
        for (Configuration.Member member : current.members()) {
            if (!member.id().equals(self) && !peers.containsKey(member.id())) {
                Peer peer = new Peer(member.id(), terms.lastIndex() + 1, nowNanos);
                peers.put(member.id(), peer);
                replicate(nowNanos, peer);
            }
        }
    }

    private void replicate(long nowNanos, Peer peer) {
        if (peer.fetching) {
            return;
        }
        if (peer.next <= terms.baseIndex()) {
            if (peer.probeSentNanos == 0) {
                peer.probing = true;
                peer.probeSentNanos = nowNanos;
                effects.send(peer.id, new RaftMessage.Install(term, log.checkpoint(), round));
            }
            return;
        }
        while (peer.next <= terms.lastIndex() && peer.hasRoom(WINDOW_BYTES)) {
            if (peer.probing && peer.probeSentNanos != 0) {
                return;
            }
            List<Entry> entries = log.cached(peer.next, BATCH_BYTES);
            if (entries.isEmpty()) {
                peer.fetching = true;
                effects.fetch(peer.id, peer.next, BATCH_BYTES);
                return;
            }
            sendEntries(nowNanos, peer, entries);
        }
    }

    private void sendEntries(long nowNanos, Peer peer, List<Entry> entries) {
        long prevIndex = peer.next - 1;
        append(peer, prevIndex, entries);
        if (peer.probing) {
            peer.probeSentNanos = nowNanos;
            return;
        }
        int bytes = 0;
        for (Entry entry : entries) {
            bytes += entry.length();
        }
        peer.sent(entries.get(entries.size() - 1).index(), bytes);
    }

    private void heartbeat(long nowNanos, Peer peer) {
        long prevIndex = peer.next - 1;
        if (prevIndex < terms.baseIndex()) {
            peer.probeSentNanos = 0;
            replicate(nowNanos, peer);
            return;
        }
        append(peer, prevIndex, List.of());
    }

    private void append(Peer peer, long prevIndex, List<Entry> entries) {
        effects.send(
                peer.id,
                new RaftMessage.Append(
                        term,
                        prevIndex,
                        terms.at(prevIndex),
                        commitIndex,
                        storedIndex,
                        round,
                        peer.run,
                        entries.isEmpty() || isWaitedFor(peer),
                        entries));
        peer.toldCommit = decidesWith(self, peer.id) ? Math.max(commitIndex, storedIndex) : commitIndex;
    }

    /**
     * Whether this leader waits for its word. Where two are a majority one other's is enough: that of who has told of more, or of as much and was the one that
     * counted last. If that one stands still, the next ticks of the others outrun it, and one of them is waited for.
     */
    private boolean isWaitedFor(Peer peer) {
        if (peer.probing || peer.id.equals(transferTo) || !decidesWith(self, peer.id)) {
            return true;
        }
        for (Peer other : peers.values()) {
            boolean isFirst = other.match > peer.match || (other.match == peer.match && other.counted > peer.counted);
            if (isFirst && !other.probing && decidesWith(self, other.id)) {
                return false;
            }
        }
        return true;
    }

    private void startRound(long nowNanos) {
        round++;
        heartbeatDueNanos = nowNanos + heartbeatNanos;
        for (Peer peer : peers.values()) {
            heartbeat(nowNanos, peer);
        }
        confirmReads(nowNanos);
    }

    /** Tells {@code member} at once what is committed, because it waits for it. */
    public void tellCommit(long nowNanos, MemberId member) {
        Peer peer = peers.get(member);
        if (role == Role.LEADER && peer != null && peer.toldCommit < commitIndex && !peer.probing) {
            heartbeat(nowNanos, peer);
        }
    }

    private void tickLeader(long nowNanos) {
        if (transferTo != null && nowNanos >= transferDeadlineNanos) {
            transferTo = null;
            effects.changed();
        }
        if (nowNanos >= quorumDueNanos) {
            quorumDueNanos = nowNanos + electionNanos / 2;
            if (!isAnsweredByMajority(nowNanos, configuration(), false)) {
                leaderSuspected = false;
                follow(nowNanos, term, null);
                return;
            }
        }
        if (isStoringForLong(nowNanos)) {
            succeed(configuration());
            follow(nowNanos, term, null);
            return;
        }
        if (nowNanos >= heartbeatDueNanos) {
            for (Peer peer : peers.values()) {
                if (peer.probing && nowNanos - peer.probeSentNanos > heartbeatNanos) {
                    peer.probeSentNanos = 0;
                }
            }
            startRound(nowNanos);
        } else {
            for (Peer peer : peers.values()) {
                if (peer.toldCommit < commitIndex && !peer.probing) {
                    heartbeat(nowNanos, peer);
                }
            }
        }
        repairMembership(nowNanos);
    }

    /** A leader tells nobody of what is committed before it has stored that itself: one whose disk stands still would hold all up whose disks do not. */
    private boolean isStoringForLong(long nowNanos) {
        if (storedIndex >= awaitedIndex) {
            awaitedIndex = commitIndex;
            storeDueNanos = nowNanos + electionNanos;
        }
        return storedIndex < awaitedIndex && nowNanos >= storeDueNanos;
    }

    /** @param asNamed whether only those count that speak for the directories that the configuration names */
    private boolean isAnsweredByMajority(long nowNanos, Configuration some, boolean asNamed) {
        int heard = 0;
        for (Configuration.Member member : some.members()) {
            Peer peer = peers.get(member.id());
            boolean answers = peer != null
                    && nowNanos - peer.answeredNanos < electionNanos
                    && (!asNamed || (peer.answers && peer.admission == member.admission()));
            if (member.voter() && (member.id().equals(self) || answers)) {
                heard++;
            }
        }
        return heard >= some.majority();
    }

    /**
     * Takes back members that have forgotten everything, as learners, and promotes learners that have caught up: that have what was decided one round ago or
     * two, which is at most an election timeout (section 4.2.1). While there is always something to decide, one that answers later than others never has all of
     * it.
     */
    private void repairMembership(long nowNanos) {
        if (commitIndex < termStartIndex) {
            return; // what it knows to be decided may be old
        }
        if (nowNanos >= catchUpDueNanos) {
            catchUpDueNanos = nowNanos + electionNanos / 2;
            decidedBefore = decidedAtCatchUp;
            decidedAtCatchUp = commitIndex;
        }
        if (configurations.lastKey() > commitIndex) {
            return;
        }
        for (Configuration.Member member : configuration().members()) {
            Peer peer = peers.get(member.id());
            // One that has not answered in this term may be a late message of a directory that is gone.
            if (peer == null || !peer.answers) {
                continue;
            }
            if (peer.admission != member.admission()) {
                change(nowNanos, configuration().with(new Configuration.Member(member.id(), peer.admission, false)));
                return;
            }
            boolean hasCaughtUp = peer.match >= Math.min(commitIndex, decidedBefore);
            if (!member.voter() && hasCaughtUp && nowNanos - peer.answeredNanos < electionNanos) {
                change(nowNanos, configuration().with(new Configuration.Member(member.id(), member.admission(), true)));
                return;
            }
        }
    }

    private void onAppendReply(long nowNanos, MemberId from, RaftMessage.AppendReply reply) {
        if (reply.term() > term) {
            follow(nowNanos, reply.term(), null);
            return;
        }
        Peer peer = peers.get(from);
        // An answer of an earlier term, even of the same leader, says nothing of this term's log.
        if (role != Role.LEADER || peer == null || reply.term() < term) {
            return;
        }
        peer.answers = true;
        peer.answeredNanos = nowNanos;
        peer.ackedRound = Math.max(peer.ackedRound, reply.round());
        // Who has committed more than this log has learns by the first entry of this term that it is another one's: it
        // counts for nothing here.
        if (reply.success() && reply.index() <= terms.lastIndex()) {
            if (reply.index() > commitIndex) {
                peer.counted = reply.index();
            }
            peer.matched(reply.index());
            advanceCommit(nowNanos);
            continueTransfer();
        } else if (!reply.success()
                && reply.prevIndex() > peer.match
                && (!peer.probing || reply.prevIndex() == peer.next - 1)) {
            peer.probe(Math.min(nextToTry(reply), reply.prevIndex()));
        }
        confirmReads(nowNanos);
        if (role == Role.LEADER) {
            replicate(nowNanos, peer);
        }
    }

    /** Section 3.5, last paragraph: one round trip per term in conflict, not one per entry. */
    private long nextToTry(RaftMessage.AppendReply refusal) {
        if (refusal.conflictTerm() == 0) {
            return refusal.index();
        }
        long last = terms.lastIndexAtOrBelow(refusal.conflictTerm());
        return terms.at(last) == refusal.conflictTerm() ? last + 1 : refusal.index();
    }

    private void advanceCommit(long nowNanos) {
        Configuration current = configuration();
        long[] stored = new long[current.voters()];
        int i = 0;
        for (Configuration.Member member : current.members()) {
            if (!member.voter()) {
                continue;
            }
            if (member.id().equals(self)) {
                stored[i] = storedIndex;
            } else {
                Peer peer = peers.get(member.id());
                stored[i] = peer == null || peer.admission != member.admission() ? 0 : peer.match;
            }
            i++;
        }
        Arrays.sort(stored);
        long byMajority = stored[stored.length - current.majority()];
        // Section 3.6.2: an entry of an earlier term is committed only through one of this leader's own.
        if (byMajority <= commitIndex || terms.at(byMajority) != term) {
            return;
        }
        boolean firstOfTerm = commitIndex < termStartIndex;
        commitIndex = byMajority;
        tellCommit();
        if (firstOfTerm) {
            effects.changed();
        }
        if (configurations.lastKey() <= commitIndex && !current.isVoter(self)) {
            // Section 4.2.2: a leader that has removed itself steps down once that is committed.
            for (Peer peer : peers.values()) {
                heartbeat(nowNanos, peer);
            }
            succeed(current);
            follow(nowNanos, term, null);
        }
    }

    /** Has who holds most be elected at once, so that nobody waits for this leader's silence (section 3.10). */
    private void succeed(Configuration current) {
        peers.values().stream()
                .filter(peer -> current.isVoter(peer.id))
                .max(Comparator.comparingLong(peer -> peer.match))
                .ifPresent(peer -> effects.send(peer.id, new RaftMessage.TimeoutNow(term)));
    }

    private void continueTransfer() {
        Peer target = transferTo == null ? null : peers.get(transferTo);
        if (target != null && target.match == terms.lastIndex()) {
            effects.send(target.id, new RaftMessage.TimeoutNow(term));
        }
    }

    private void confirmReads(long nowNanos) {
        if (reads.isEmpty() || role != Role.LEADER) {
            return;
        }
        long[] acked = new long[configuration().voters()];
        int i = 0;
        for (Configuration.Member member : configuration().members()) {
            if (member.voter()) {
                Peer peer = peers.get(member.id());
                long acknowledged = peer == null || peer.admission != member.admission() ? 0 : peer.ackedRound;
                acked[i++] = member.id().equals(self) ? round : acknowledged;
            }
        }
        Arrays.sort(acked);
        long confirmed = acked[acked.length - configuration().majority()];
        Iterator<Read> waiting = reads.iterator();
        while (waiting.hasNext()) {
            Read read = waiting.next();
            if (read.round() > confirmed || read.index() > commitIndex) {
                break;
            }
            waiting.remove();
            effects.readable(read.request(), read.index());
        }
        if (!reads.isEmpty() && confirmed >= round && reads.getLast().round() > round) {
            startRound(nowNanos);
        }
    }

    private long random(long bound) {
        return bound <= 0 ? 0 : random.applyAsLong(bound);
    }
}
