import KFImaging
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// A waiter for work in flight.
protocol WorkWaiter: AnyObject, Sendable {
    var wish: Wish { get }
    /// Notes the work. Returns false if the waiter no longer waits.
    func waits(for work: any SharedWork) -> Bool
    /// Cancels the waiter, because the work was cancelled for all.
    func cancel()
    /// Takes the answer of the work. Called on a worker.
    func arrived(_ answer: Answer, _ turn: inout Turn)
}

/// Work in flight, shared by all of its waiters. The table knows them.
protocol SharedWork: StoreWork {
    var key: WorkKey { get }
    var table: WorkTable { get }
    /// Whether it is a transfer that has not had its turn.
    var waitsToStart: Bool { get }
    /// Whether it is a transfer that has started and not ended.
    var isRunning: Bool { get }
    /// The number of requests that it made; its waiters have counted one.
    var requests: Int { get }
    /// Called when no waiter is left before the answer.
    func abandon()
    /// Called when all that came of a body which the work has brought is stored.
    func stored()
    /// Called when the highest priority of the waiters has changed.
    func change(priority: Float)
}

extension SharedWork {
    var waitsToStart: Bool { false }
    var isRunning: Bool { false }
    var requests: Int { 1 }
    func abandon() {}
    func stored() { table.end(self) }
    func change(priority: Float) {}
}

/// The table of work in flight. Work that has delivered its answer stays for late joiners, until everything is stored.
final class WorkTable: Sendable {
    enum Joining {
        /// The work is new: the caller starts it.
        case started
        case joined
        /// The work has already delivered this answer.
        case late(Answer)
        /// The waiter no longer waits.
        case left
    }

    private struct Entry {
        let work: any SharedWork
        /// The first waiter, which is nearly always the only one. An array is an allocation.
        var first: (any WorkWaiter)?
        var others: [any WorkWaiter] = []
        /// The highest priority of the waiters.
        var priority: Float
        /// Nil until the work has delivered.
        var answer: Answer?

        var waiters: [any WorkWaiter] { first.map { [$0] + others } ?? [] }

        // These two mutate so that they work in place: a copy of an entry costs four retains.

        mutating func isOf(_ other: any SharedWork) -> Bool { work === other }

        /// Notes the answer, and returns the waiters to tell; nil if there is an answer already.
        mutating func answer(_ answer: Answer) -> Told? {
            if case .some = self.answer { return nil }
            self.answer = answer
            defer { (first, others) = (nil, []) }
            return (first, others)
        }

        mutating func remove(_ waiter: any WorkWaiter) {
            others.removeAll { $0 === waiter }
            if first === waiter { first = others.isEmpty ? nil : others.removeFirst() }
        }
    }

    private typealias Told = (first: (any WorkWaiter)?, others: [any WorkWaiter])

    private let works = Mutex<[WorkKey: Entry]>([:])
    private let ends = Mutex(EndedWorks())

    /// The present moment, for a look-up that begins now.
    var moment: UInt64 { ends.withLock { $0.count } }

    /// Joins equal work, or adds this one.
    ///
    /// If equal work has ended since the moment of the waiter's look-up, what it stored is in a cache: the answer is
    /// `stored` then.
    func join(_ work: any SharedWork, _ waiter: any WorkWaiter, since moment: UInt64? = nil) -> Joining {
        let (key, wish) = (work.key, waiter.wish)
        var raised: (any SharedWork)?
        let joining = works.withLock { works -> Joining in
            if let entry = works[key], !(entry.answer.map(wish.rejects) ?? false) {
                if let answer = entry.answer { return .late(answer) }
                guard waiter.waits(for: entry.work) else { return .left }
                works[key]?.others.append(waiter)
                if wish.priority > entry.priority {
                    works[key]?.priority = wish.priority
                    raised = entry.work
                }
                return .joined
            }
            if let moment, ends.withLock({ $0.has(key.hashValue, since: moment) }) {
                return .late(.stored)
            }
            guard waiter.waits(for: work) else { return .left }
            works[key] = Entry(work: work, first: waiter, priority: wish.priority)
            return .started
        }
        raised?.change(priority: wish.priority)
        return joining
    }

    /// Removes a waiter. Without waiters, work that has not delivered is abandoned.
    func leave(_ work: any SharedWork, _ waiter: any WorkWaiter) {
        let left = waiter.wish.priority
        let (isAbandoned, lowered) = works.withLock { works -> (Bool, Float?) in
            guard let place = Self.place(of: work, in: &works), works.values[place].answer == nil else {
                return (false, nil)
            }
            let priority = works.values[place].priority
            works.values[place].remove(waiter)
            if works.values[place].first == nil {
                works.remove(at: place)
                return (true, nil)
            }
            let waiters = works.values[place].waiters
            if left < priority || waiters.contains(where: { $0.wish.priority >= priority }) { return (false, nil) }
            let highest = waiters.map(\.wish.priority).max() ?? priority
            works.values[place].priority = highest
            return (false, highest)
        }
        if isAbandoned { work.abandon() }
        if let lowered { work.change(priority: lowered) }
    }

    private static func place(
        of work: any SharedWork, in works: inout [WorkKey: Entry]
    ) -> [WorkKey: Entry].Index? {
        works.index(forKey: work.key).flatMap { works.values[$0].isOf(work) ? $0 : nil }
    }

    /// Delivers the answer to all waiters. With `stays`, later ones join late until `end`, otherwise they start anew.
    /// `received` is a number of bytes that no waiter has been told of.
    func deliver(
        _ answer: Answer, of work: any SharedWork, stays: Bool = false, reporting received: Int64? = nil,
        _ turn: inout Turn
    ) {
        let told = works.withLock { works -> Told? in
            guard let place = Self.place(of: work, in: &works) else { return nil }
            if stays { return works.values[place].answer(answer) }
            let entry = works.remove(at: place).value
            return (entry.first, entry.others)
        }
        func tell(_ waiter: any WorkWaiter) {
            if let received { waiter.wish.progress?(received, received) }
            waiter.arrived(answer, &turn)
        }
        if let first = told?.first { tell(first) }
        for waiter in told?.others ?? [] { tell(waiter) }
    }

    /// Ends work whose answer has been stored, so that later requests start anew. `stored` is the key of a body that is in a
    /// cache now.
    func end(_ work: any SharedWork, stored: EntryKey? = nil) {
        // What the work holds is released without the lock.
        _ = works.withLock { works in
            Self.place(of: work, in: &works).map { place in
                ends.withLock { $0.note(work.key, stored) }
                return works.remove(at: place)
            }
        }
    }

    /// Returns whether a body may have been stored under the key after this moment, by a request for any URL; with
    /// `isKnown`, only if one was stored of late.
    func hasStored(_ key: EntryKey, since moment: UInt64, isKnown: Bool = false) -> Bool {
        ends.withLock { $0.has(Int(truncatingIfNeeded: key.id), since: moment, isKnown: isKnown) }
    }

    /// The number of waiters for all work that has not delivered.
    var waiterCount: Int { works.withLock { $0.values.reduce(0) { $0 + $1.waiters.count } } }

    func isWanted(_ work: any SharedWork) -> Bool {
        works.withLock { works in Self.place(of: work, in: &works).map { works.values[$0].first != nil } ?? false }
    }

    func report(_ received: Int64, _ total: Int64?, of work: any SharedWork) {
        let handlers = works.withLock { works in
            Self.place(of: work, in: &works).map { works.values[$0].waiters.compactMap(\.wish.progress) } ?? []
        }
        for handler in handlers { handler(received, total) }
    }

    /// Cancels all waiters of running work whose key matches. Work that has delivered is stored to its end.
    func cancel(where isMeant: (WorkKey) -> Bool) {
        let waiters = works.withLock { works in
            works.values.filter { $0.answer == nil && isMeant($0.work.key) }.flatMap(\.waiters)
        }
        for waiter in waiters { waiter.cancel() }
    }

    var runningTransfers: Int { works.withLock { $0.values.count { $0.answer == nil && $0.work.isRunning } } }
}

/// The works that have ended of late, for jobs whose look-up came before that and who join after it.
private struct EndedWorks {
    /// The number of ends that each of two sets holds.
    private static let span: UInt64 = 4096

    /// The number of ends so far.
    private(set) var count: UInt64 = 0
    /// The hashes of the last works, with the keys of what they stored, and of those before them.
    private var last: Set<Int> = []
    private var earlier: Set<Int> = []

    mutating func note(_ key: WorkKey, _ stored: EntryKey?) {
        guard key.isOfSource else { return }
        if count % Self.span == 0 { (earlier, last) = (last, []) }
        last.insert(key.hashValue)
        if let stored { last.insert(Int(truncatingIfNeeded: stored.id)) }
        count += 1
    }

    /// Returns whether such work may have ended after this moment: where that is not known any more, it may, unless it is to
    /// be known.
    func has(_ hash: Int, since moment: UInt64, isKnown: Bool = false) -> Bool {
        guard moment < count else { return false }
        // Both sets together hold at least the ends of one span.
        return !isKnown && count - moment > Self.span || last.contains(hash) || earlier.contains(hash)
    }
}

/// The identity of work: equal work is done once (single flight).
enum WorkKey: Hashable, Sendable {
    case download(ImageDownload)
    case remote(RemoteRead)
    case read(ProviderRead)
    case make(Making)

    /// Whether the work asks a source.
    fileprivate var isOfSource: Bool {
        switch self {
        case .download, .read: true
        case .remote, .make: false
        }
    }
}

/// The answer of work to its waiters.
enum Answer: Sendable {
    /// A whole image, of a source or a remote.
    case body(Body)
    /// The images made from a body, each with its error if it failed.
    case made(Body, [Result<ProcessedImage, KingfisherError>])
    /// The server confirmed the cached image (304). The body, which has no bytes, has the renewals, and the claim that keeps
    /// other processes from requesting the key.
    indirect case confirmed(ResponseFacts, Body)
    /// Another process, or another job of this one, has stored the image meanwhile, and no request was made.
    case stored
    /// The processed images that a remote has, of several, and the answer about the original of the others.
    indirect case images([EntryKey: Body], others: Answer)
    /// No remote has the image. With `isDamaged`, the first remote has something in its place that is to be replaced.
    case absent(isDamaged: Bool)
    /// A remote had an expired original, which the disk cache has now. The members of its entry that kf does not know stay in
    /// the entry that replaces it.
    case imported([StrictJSON.Member], isDamaged: Bool)
    /// A status without an image, or an image that was left out. A personal answer belongs to this caller alone. The flight
    /// keeps other processes from requesting the key.
    indirect case refused(KingfisherError, ResponseFacts, FlightHold?, isPersonal: Bool)
    indirect case failed(KingfisherError)

    /// A worker's task that passes the answer to a waiter that joined late. `reportsSize` is set for a transfer, which
    /// has reported its progress to the waiters of its time.
    func joined(by waiter: any WorkWaiter, reportsSize: Bool = false) -> WorkerTask {
        WorkerTask { turn in
            if reportsSize, case .body(let body) = self { waiter.wish.progress?(body.bytes.size, body.bytes.size) }
            waiter.arrived(self, &turn)
        }
    }
}

/// Called with the number of bytes received so far, and the total if the server announced it. Called on the network
/// thread, or once on a worker if the call joins a download that has just ended. It must not block.
public typealias ProgressHandler = @Sendable (_ received: Int64, _ total: Int64?) -> Void

/// The wishes of one waiter about shared work.
struct Wish: Sendable {
    /// The priority, from 0 to 1.
    var priority: Float = 0.5
    var progress: ProgressHandler?
    /// Whether to reject an answer that was delivered before this request.
    var isForced = false
    /// Whether the request follows a failure. Until the table forgets that failure, it is no answer to the retry.
    var isRetry = false

    fileprivate func rejects(_ answer: Answer) -> Bool {
        switch answer {
        case .failed, .refused: isForced || isRetry
        default: isForced
        }
    }
}
