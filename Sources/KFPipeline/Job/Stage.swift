import KFImaging
import KFStorage
import KFTerms

/// The stage of a job, with what the next stage needs.
enum Stage: Sendable {
    /// The caches are searched; so begins each source of the job.
    case looking
    /// Jobs of their own bring the images.
    case split(Split)
    /// A remote or the source is asked, or will be after a rest.
    case fetching(Asking)
    indirect case making(Making)
    indirect case storing(ImageEnding)
    case ended

    /// Returns whether a job may go on from this stage to another one.
    func leads(to next: Stage) -> Bool {
        switch (self, next) {
        case (.looking, .storing), (.ended, _): false
        case (.looking, _): true
        case (.split, .ended): true
        case (.split, _), (_, .split): false
        case (.fetching, _): true
        // Another source begins, damaged bytes are fetched again, or a made image is stored.
        case (.making, _): true
        // A confirmed entry has gone, or its image is made of it; a replaced original is used again.
        case (.storing, .fetching), (.storing, .making), (.storing, .ended): true
        case (.storing, _): false
        }
    }
}

/// The terms of asking remotes and a source.
package struct Asking: Sendable {
    /// The expired file, which the source may confirm, or which may serve if that fails.
    var stale: FoundFile?
    /// The number of commits by other processes when the look-up missed; nil to fetch regardless of later commits.
    var commits: Int64?
    /// The moment of that look-up in the table of shared work; nil as for `commits`.
    var moment: UInt64?
    var answer = Sight.Answer.unknown
    /// Whether the request is unconditional despite an expired file, because its entry has gone.
    var isUnconditional = false
    /// The number of mirrors that have failed.
    var failedMirrors = 0

    /// The URL of the mirror that is to be asked next; nil if that is the URL of the source.
    func mirror(of retrieval: Retrieval) -> RequestURL? {
        guard retrieval.box.mirrored != nil, case .network(let resource) = retrieval.source else { return nil }
        return retrieval.options.request.mirrored(resource.downloadURL).dropFirst(failedMirrors).first
    }

    func after(_ stale: FoundFile?) -> Asking {
        var asking = self
        asking.stale = stale
        return asking
    }

    /// The validators of the expired file, which make the request conditional.
    func condition(_ retrieval: Retrieval) -> RequestCondition? {
        guard let stale, !stale.isBorrowed, !isUnconditional else { return nil }
        return retrieval.condition(of: stale.entry)
    }
}

extension Asking {
    /// Creates the terms for an image that a look at many has not found. `moment` is that of the look in the downloader's
    /// table of shared work.
    package init(commits: Int64?, moment: UInt64, answer: Sight.Answer) {
        self.init(stale: nil, commits: commits, moment: moment, answer: answer)
    }
}

/// What an image is made from.
enum Making: Sendable {
    /// The body of a download, or an original in memory.
    case body(ImageEnding)
    case file(Derivation)
}

/// The making of an image from a cached file.
struct Derivation: Sendable {
    let file: CachedFile
    let way: RetrievalWay
    /// Whether the result may be stored.
    var keeps = true
    /// The response that confirmed the file, if it was revalidated, and the error of writing the renewal.
    var response: ResponseFacts?
    var problem: KingfisherError?
    /// The action if the file cannot be decoded: to fetch the image again, or to fail.
    var otherwise: Result<Asking, KingfisherError> = .success(Asking())
    /// Whether the file was hashed by this cache: one of a lower layer is only where its hash counts.
    var isHashed = true
    /// Whether the original has already been replaced once meanwhile.
    var isAgain = false
    /// The count of removals of the original's cache when the file was found; nil for a file that is never removed.
    var removals: UInt64?

    var digest: Digest { file.entry.object.digest }
}

/// The result of a job while its image is made and stored.
struct ImageEnding: Sendable {
    enum Content: Sendable {
        case bytes(PendingBytes, ImageFormat, PixelFacts?)
        case processed(ProcessedImage)
        /// An existing file that is delivered unchanged.
        case file(CachedFile)
        /// The image, or one of several, could not be made.
        case failure(KingfisherError)
    }

    enum Ordered: Sendable {
        case store(StoreOrder)
        /// The bytes could not be prepared.
        case failed(KingfisherError)

        var order: StoreOrder? {
            if case .store(let order) = self { order } else { nil }
        }

        var outcome: StoreOrder.Outcome? {
            switch self {
            case .store(let order): order.outcome
            case .failed(let error): .failure(error)
            }
        }

        /// Whether the image was not stored, because its original had been replaced.
        var isOutdated: Bool {
            if case .success(nil)? = outcome { true } else { false }
        }
    }

    /// The retrieval, including the changes that depend on the response.
    var retrieval: Retrieval
    let asked: Retrieval
    let way: RetrievalWay
    var content: Content
    let origin: OriginFacts?
    /// Whether the bytes that the image is made from were hashed by this cache.
    var isOfHashedBytes = true
    var facts = Outcome.Facts()
    /// The claim that keeps other processes from requesting the key until everything is stored.
    var flight: FlightHold?
    /// The cached file that the image is made from; nil for a download.
    var derivation: Derivation?
    /// When the image or its original came from its source or a remote; nil for a cached file.
    var arrived: Timestamp?
    /// The images that are made together of this one.
    var parts: [ImageEnding] = []
    var original: Ordered?
    var hasOrderedOriginal = false
    var target: Ordered?
    /// The terms on which the source was asked that has confirmed the stale entry, and the renewals of that and of others.
    var confirmed: Asking?
    var renewals: [StoreOrder] = []
    /// The tokens that make removals in both caches wait until everything is stored.
    private var tokens: (target: StoresUnderWay.Token, original: StoresUnderWay.Token?)?

    init(
        _ retrieval: Retrieval, asked: Retrieval, _ way: RetrievalWay, _ content: Content, origin: OriginFacts? = nil
    ) {
        self.retrieval = retrieval
        self.asked = asked
        self.way = way
        self.content = content
        self.origin = origin
    }

    /// All stores that the result waits for.
    var orders: [StoreOrder] {
        [original?.order, target?.order].compactMap { $0 } + renewals + parts.compactMap { $0.target?.order }
    }

    /// Makes removals wait until this value is gone.
    mutating func holdStores() {
        let key = retrieval.target.key
        let isSame = retrieval.cache === retrieval.originals
        tokens = (retrieval.cache.stores.begin(key), isSame ? nil : retrieval.originals.stores.begin(key))
    }

    func result(_ content: Outcome.Content) -> RetrieveImageResult {
        RetrieveImageResult(retrieval, asked: asked, way, content, facts)
    }
}

/// The jobs that bring several images of one source.
struct Split: Sendable {
    /// The results so far, in the order of the images.
    var results: [Result<RetrieveImageResult, KingfisherError>?]
    var jobs: [ImageJob] = []
    /// The images that each of the jobs brings, by its number.
    var places: [[Int]] = []
    /// The number of jobs that have not ended.
    var open = 0
    /// The images that are fetched and made together.
    var groups: [Group] = []
    /// Those of them that no remote has.
    var missed: Set<Int> = []

    struct Group: Sendable {
        let wish: JointWish
        var places: [Int] = []
        /// Whether any of them is on the disk, expired.
        var areStale = false
    }

    init(_ count: Int) { results = Array(repeating: nil, count: count) }

    mutating func add(_ places: [Int], _ make: (_ number: Int) -> ImageJob) {
        jobs.append(make(jobs.count))
        self.places.append(places)
        open += 1
    }

    /// Takes the end of one of the jobs.
    mutating func note(_ image: EndedImage) {
        open -= 1
        let places = places[image.job.number]
        if image.job.endsAfterRemotes, case .failure(let error) = image.result, !error.isCancellation,
            !error.isCacheFailure
        {
            missed.formUnion(places)
        } else {
            for (place, result) in zip(places, image.results) { results[place] = result }
        }
    }
}
