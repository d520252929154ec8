import KFImaging
import KFNetwork
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
    case making(Draft)
    case storing(Draft)
    case ended

    /// Returns whether a job may go on from this stage to another one.
    func leads(to next: Stage) -> Bool {
        switch (self, next) {
        case (.looking, .storing), (.ended, _): false
        case (.looking, _): true
        case (.fetching, _): true
        case (.split, .ended): true
        case (.split, _), (_, .split): false
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
    /// Whether the request is unconditional despite an expired file: its entry has gone, or others need the whole image.
    var isUnconditional = false
    /// The number of mirrors that have failed.
    var failedMirrors = 0

    /// The URL of the mirror that is to be asked next; nil if that is the URL of the source.
    func mirror(of retrieval: Retrieval) -> RequestURL? {
        guard retrieval.box.mirrored != nil, let url = retrieval.url else { return nil }
        return retrieval.options.request.mirrored(url).dropFirst(failedMirrors).first
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

    /// The request's answer to a host that refuses it for a limit. Where a stale image may serve, it waits for 5 s at most.
    func limits(_ retrieval: Retrieval) -> TransferRequest.LimitHandling {
        if retrieval.options.retryStrategy == nil { return .end }
        let mayServe = stale.map { retrieval.mayServeStale($0.entry, now: retrieval.now) } ?? false
        return .outwait(most: mayServe ? .seconds(5) : nil)
    }
}

extension Asking {
    /// Creates the terms for an image that a look at many has not found. `moment` is that of the look in the downloader's
    /// table of shared work.
    package init(commits: Int64?, moment: UInt64, answer: Sight.Answer) {
        self.init(stale: nil, commits: commits, moment: moment, answer: answer)
    }
}

/// The making of an image from a cached file.
final class Derivation: Sendable {
    let found: FoundFile
    let way: RetrievalWay
    /// Whether the result may be stored.
    let keeps: Bool
    /// The response that confirmed the file, if it was revalidated, its facts, and the error of writing the renewal.
    let response: ResponseFacts?
    let origin: OriginFacts?
    let problem: KingfisherError?
    /// The action if the file cannot be decoded: to fetch the image again, or to fail.
    let otherwise: Result<Asking, KingfisherError>
    /// Whether the original has already been replaced once meanwhile.
    let isAgain: Bool

    init(
        _ found: FoundFile, _ way: RetrievalWay, keeps: Bool = true, response: ResponseFacts? = nil,
        origin: OriginFacts? = nil, problem: KingfisherError? = nil,
        otherwise: Result<Asking, KingfisherError> = .success(Asking()), isAgain: Bool = false
    ) {
        (self.found, self.way, self.keeps, self.isAgain) = (found, way, keeps, isAgain)
        (self.response, self.origin, self.problem, self.otherwise) = (response, origin, problem, otherwise)
    }

    /// Makes the image of another file, which has replaced this one.
    func again(of newer: FoundFile) -> Derivation {
        Derivation(newer, way, response: response, problem: problem, otherwise: otherwise, isAgain: true)
    }

    var digest: Digest { found.entry.object.digest }
}

/// The jobs that bring several images of one source.
struct Split: Sendable {
    /// The results so far, in the order of the images.
    var results: [ImageJob.End?]
    private(set) var jobs: [ImageJob] = []
    /// The images that each of the jobs brings, by its number.
    private var places: [[Int]] = []

    init(_ count: Int) { results = Array(repeating: nil, count: count) }

    mutating func add(_ places: [Int], _ make: (_ number: Int) -> ImageJob) {
        jobs.append(make(jobs.count))
        self.places.append(places)
    }

    /// Takes the end of one of the jobs.
    mutating func note(_ job: ImageJob) {
        for (place, result) in zip(places[job.number], job.results) { results[place] = result }
    }
}
