import KFCore
import Support

/// The state of one retrieval: what the caches hold, what the options ask for, and how the origin behaves.
struct DecisionState: Sendable, Equatable {
    /// How the requested image is made of the original.
    enum Making: String, CaseIterable { case untouched, grey, png }
    enum Memory: String, CaseIterable { case none, fresh, expired, otherLanguage }
    enum Origin: String, CaseIterable {
        /// It sends another image.
        case changed
        /// It confirms validators, and sends an image otherwise.
        case confirms
        case notFound, unavailable
        /// It closes the connection.
        case closes
        /// No server listens.
        case dead
    }
    enum Remote: Equatable {
        case none, down
        case has(CacheContent)
    }

    var making = Making.untouched
    var policy = CachePolicy.timeToLive
    var own: CacheContent
    var layer: CacheContent?
    /// The content of `originalCache`; nil without one.
    var originals: CacheContent?
    var remote = Remote.none
    var memory = Memory.none
    /// Whether the options name the cache, and the manager has another, empty one.
    var namesTargetCache = false
    var language: String?
    var forcesRefresh = false
    var revalidates = false
    var usesOnlyCache = false
    var isOffline = false
    var usesMemoryOrRefresh = false
    var retriesFailed = false
    var cachesOriginal = false
    /// Whether a filter refuses every image.
    var filters = false
    /// Spans in seconds.
    var staleIfError: Int64?
    var staleWhileRevalidate: Int64?
    var negativeTimeToLive: Int64?
    var origin = Origin.changed
    /// Whether the cache is asked on the calling thread first, as the command does.
    var asksCacheFirst = false
}

/// The content of a cache, a lower layer or a remote. It follows from this description alone.
struct CacheContent: Hashable, Sendable {
    struct Picture: Hashable, Sendable {
        enum Validator: String, CaseIterable { case etag, none, date }
        enum Directive: String, CaseIterable { case none, staleWhileRevalidate, staleIfError, mustRevalidate }
        enum Damage: String, CaseIterable { case none, truncated, missing }

        var isFresh = true
        var isJPEG = false
        var validator = Validator.etag
        var directive = Directive.none
        var damage = Damage.none
    }

    /// A remembered response without an image.
    struct Answer: Hashable, Sendable {
        var status = 404
        var isFresh = true
        /// Whether it is older than the images.
        var isOlder = false
        /// Whether `negativeTimeToLive` remembers it, and not its headers.
        var isTimed = false
    }

    var isRemote = false
    var making = DecisionState.Making.untouched
    var policy = CachePolicy.timeToLive
    var original: Picture?
    /// The requested image, unless it is the original.
    var target: Picture?
    /// Whether the images vary with Accept-Language; they are those for `de`.
    var varies = false
    /// Whether the image for `en` is stored beside the one for `de`.
    var hasEnglish = false
    var answer: Answer?
}

// MARK: Generation

extension CacheContent {
    enum Role: UInt64 { case own, layer, originals, remote }

    /// Returns one of the contents of a pool, which keeps the number of caches that are built small.
    static func random(_ role: Role, _ making: DecisionState.Making, _ policy: CachePolicy, number: Int, seed: UInt64)
        -> CacheContent
    {
        let makings = DecisionState.Making.allCases
        let place = UInt64(number * 6 + (makings.firstIndex(of: making) ?? 0) * 2 + (policy == .http ? 1 : 0))
        var dice = Dice(seed, role.rawValue, place)
        var content = CacheContent(isRemote: role == .remote, making: making)
        content.policy = dice.hits(85) ? policy : policy == .http ? .timeToLive : .http
        if dice.hits(role == .remote ? 90 : 65) { content.original = .random(&dice, role, making) }
        if making != .untouched, role != .originals, dice.hits(55) {
            content.target = .random(&dice, role, making)
            // Both are made of the same bytes.
            if let original = content.original { content.target?.isJPEG = original.isJPEG }
        }
        content.varies = content.policy == .http && dice.hits(45)
        content.hasEnglish = content.varies && dice.hits(70) && (content.original ?? content.target) != nil
        if role != .remote, dice.hits(30) {
            var answer = Answer(status: dice.pick([404, 410]), isFresh: dice.hits(80), isOlder: dice.hits(30))
            answer.isTimed = policy == .timeToLive || dice.hits(30)
            content.answer = answer
        }
        return content
    }
}

extension CacheContent.Picture {
    static func random(
        _ dice: inout Dice, _ role: CacheContent.Role, _ making: DecisionState.Making
    ) -> CacheContent.Picture {
        var picture = CacheContent.Picture()
        picture.isFresh = dice.hits(role == .remote ? 60 : 30)
        picture.isJPEG = making == .png && dice.hits(50)
        picture.validator = dice.hits(70) ? .etag : dice.pick([.none, .date])
        picture.directive = dice.hits(60) ? .none : dice.pick(Directive.allCases)
        if role != .remote, dice.hits(15) { picture.damage = dice.pick([.truncated, .missing]) }
        return picture
    }
}

extension DecisionState {
    /// Returns the state with a number. It depends on the seed and the number alone.
    static func random(_ number: Int, seed: UInt64) -> DecisionState {
        var dice = Dice(seed, UInt64(number), 0x5374_6174_65)
        let making = dice.pick([.untouched, .untouched, .grey, .png] as [Making])
        let policy = dice.pick([CachePolicy.timeToLive, .http, .http])
        func content(_ role: CacheContent.Role, of count: Int) -> CacheContent {
            .random(role, making, policy, number: Int.random(in: 0..<count, using: &dice), seed: seed)
        }
        var state = DecisionState(making: making, policy: policy, own: content(.own, of: 20))
        if dice.hits(30) { state.layer = content(.layer, of: 8) }
        if dice.hits(15) { state.originals = content(.originals, of: 6) }
        if dice.hits(35) { state.remote = dice.hits(15) ? .down : .has(content(.remote, of: 6)) }
        if dice.hits(20) { state.memory = dice.pick([.fresh, .fresh, .expired, .otherLanguage]) }
        state.namesTargetCache = dice.hits(4)
        if policy == .http || dice.hits(20) { state.language = dice.pick([nil, "de", "de", "en", "en"]) }
        state.forcesRefresh = dice.hits(6)
        state.revalidates = dice.hits(10)
        state.usesOnlyCache = dice.hits(20)
        state.isOffline = dice.hits(6)
        state.usesMemoryOrRefresh = dice.hits(5)
        state.retriesFailed = dice.hits(12)
        state.cachesOriginal = dice.hits(50)
        let spans: [Int64?] = [nil, nil, 30, 10_000, 10_000]
        state.staleIfError = dice.pick(spans)
        state.staleWhileRevalidate = dice.hits(40) ? nil : dice.pick(spans)
        state.negativeTimeToLive = dice.pick([nil, 1000])
        state.origin = dice.pick(Origin.allCases)
        state.asksCacheFirst = dice.hits(50)
        state.filters = dice.hits(10)
        return state
    }

    /// The state with one part less, for each part that can be left out.
    var simpler: [DecisionState] {
        let changes: [(inout DecisionState) -> Void] = [
            { $0.layer = nil }, { $0.originals = nil }, { $0.remote = .none }, { $0.memory = .none },
            { $0.namesTargetCache = false }, { $0.language = nil }, { $0.forcesRefresh = false },
            { $0.revalidates = false }, { $0.usesOnlyCache = false }, { $0.isOffline = false },
            { $0.usesMemoryOrRefresh = false }, { $0.retriesFailed = false }, { $0.cachesOriginal = false },
            { $0.staleIfError = nil }, { $0.staleWhileRevalidate = nil }, { $0.negativeTimeToLive = nil },
            { $0.origin = .changed }, { $0.asksCacheFirst = false }, { $0.filters = false },
            {
                $0.making = .untouched; $0.own.making = .untouched; $0.layer?.making = .untouched
            },
            { $0.policy = .timeToLive },
        ]
        var contents: [(inout CacheContent) -> Void] = [
            { $0.original = nil }, { $0.target = nil }, { $0.answer = nil }, { $0.varies = false },
            { $0.hasEnglish = false }, { $0.policy = .timeToLive }, { $0.answer?.isOlder = false },
        ]
        let pictures: [(inout CacheContent.Picture) -> Void] = [
            { $0.damage = .none }, { $0.directive = .none }, { $0.validator = .etag }, { $0.isFresh = true },
            { $0.isJPEG = false },
        ]
        for change in pictures {
            contents.append { content in
                if var picture = content.original { change(&picture); content.original = picture }
            }
            contents.append { content in
                if var picture = content.target { change(&picture); content.target = picture }
            }
        }
        var states = changes.map { changed(by: $0) }
        for change in contents {
            states.append(changed { change(&$0.own) })
            states.append(changed { if var layer = $0.layer { change(&layer); $0.layer = layer } })
            states.append(changed { if var other = $0.originals { change(&other); $0.originals = other } })
            states.append(
                changed { if case .has(var content) = $0.remote { change(&content); $0.remote = .has(content) } })
        }
        return states.filter { $0 != self && !$0.own.isContradictory }
    }

    private func changed(by change: (inout DecisionState) -> Void) -> DecisionState {
        var state = self
        change(&state)
        return state
    }
}

extension CacheContent {
    /// Whether it cannot be built.
    fileprivate var isContradictory: Bool { making == .untouched && target != nil || hasEnglish && !varies }
}

// MARK: Description

extension DecisionState: CustomStringConvertible {
    var description: String {
        let flags: [(Bool, String)] = [
            (making != .untouched, "making \(making)"), (policy == .http, "http"),
            (memory != .none, "memory \(memory)"),
            (namesTargetCache, "targetCache"), (forcesRefresh, "forceRefresh"), (revalidates, "revalidate"),
            (usesOnlyCache, "onlyFromCache"), (isOffline, "offline"),
            (usesMemoryOrRefresh, "fromMemoryCacheOrRefresh"), (retriesFailed, "retryFailed"),
            (cachesOriginal, "cacheOriginalImage"), (asksCacheFirst, "cache first"), (filters, "filter"),
        ]
        var words = flags.filter(\.0).map(\.1)
        if let language { words.append("Accept-Language \(language)") }
        if let staleIfError { words.append("staleIfError \(staleIfError)") }
        if let staleWhileRevalidate { words.append("staleWhileRevalidate \(staleWhileRevalidate)") }
        if let negativeTimeToLive { words.append("negativeTimeToLive \(negativeTimeToLive)") }
        words.append("origin \(origin)")
        words.append("own {\(own)}")
        if let layer { words.append("layer {\(layer)}") }
        if let originals { words.append("originalCache {\(originals)}") }
        switch remote {
        case .none: break
        case .down: words.append("remote down")
        case .has(let content): words.append("remote {\(content)}")
        }
        return words.joined(separator: ", ")
    }
}

extension CacheContent: CustomStringConvertible {
    var description: String {
        var words: [String] = []
        if let target { words.append("target \(target)") }
        if let original { words.append("original \(original)") }
        if varies { words.append(hasEnglish ? "varies, en beside" : "varies") }
        if let answer {
            let age = (answer.isOlder ? " older" : "") + (answer.isFresh ? "" : " expired")
            words.append("\(answer.status)\(age)\(answer.isTimed ? " timed" : "")")
        }
        if words.isEmpty { return "nothing" }
        return words.joined(separator: ", ") + (policy == .http ? ", stored by http" : "")
    }
}

extension CacheContent.Picture: CustomStringConvertible {
    var description: String {
        var words = [isFresh ? "fresh" : "expired"]
        if isJPEG { words.append("jpeg") }
        if validator != .etag { words.append("validator \(validator)") }
        if directive != .none { words.append("\(directive)") }
        if damage != .none { words.append("\(damage)") }
        return words.joined(separator: " ")
    }
}
