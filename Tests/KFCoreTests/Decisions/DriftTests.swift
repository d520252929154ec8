import KFCore
import Support
import Testing

/// States in which `explain` or a dry run once announced something else than what the retrieval did.
@Suite("Announcements follow the look-up", .bounded)
struct DriftTests {
    struct Drift: Sendable, CustomTestStringConvertible {
        let name: String
        let state: DecisionState
        /// The step that `explain` announces, and the one of a dry run.
        let steps: [RetrievalPlan.Step]

        init(_ name: String, _ steps: RetrievalPlan.Step..., change: (inout DecisionState) -> Void) {
            self.name = name
            self.steps = steps.count == 1 ? steps + steps : steps
            var state = DecisionState(own: CacheContent())
            change(&state)
            self.state = state
        }

        var testDescription: String { name }
    }

    private static let fresh = CacheContent.Picture()
    private static let expired = CacheContent.Picture(isFresh: false)

    private static func content(
        _ original: CacheContent.Picture? = nil, target: CacheContent.Picture? = nil,
        making: DecisionState.Making = .untouched, change: (inout CacheContent) -> Void = { _ in }
    ) -> CacheContent {
        var content = CacheContent(making: making, original: original, target: target)
        change(&content)
        return content
    }

    /// The images for `de` and `en`.
    private static func bothLanguages(_ picture: CacheContent.Picture) -> CacheContent {
        content(picture) {
            $0.policy = .http
            $0.varies = true
            $0.hasEnglish = true
        }
    }

    private static func remote(
        _ original: CacheContent.Picture? = nil, target: CacheContent.Picture? = nil,
        making: DecisionState.Making = .untouched
    ) -> DecisionState.Remote {
        .has(content(original, target: target, making: making) { $0.isRemote = true })
    }

    private static let drifts = [
        Drift("A remembered 404 counts before an expired image under only-from-cache", .answer) {
            $0.policy = .http
            $0.usesOnlyCache = true
            $0.own = content(expired) { $0.answer = CacheContent.Answer() }
        },
        Drift("An expired image of a lower layer is served while it is revalidated", .stale, .request) {
            $0.staleWhileRevalidate = 10_000
            $0.layer = content(expired)
        },
        Drift("A 404 that a lower layer remembers does not count", .request) {
            $0.negativeTimeToLive = 1000
            $0.layer = content { $0.answer = CacheContent.Answer(isTimed: true) }
        },
        Drift("A remote is asked before an expired image is served under only-from-cache", .remote, .stale) {
            $0.usesOnlyCache = true
            $0.staleIfError = 10_000
            $0.own = content(expired)
            $0.remote = remote(fresh)
        },
        Drift("A fresh original of the original cache makes the image", .derive) {
            $0.originals = content(fresh)
        },
        Drift("An expired original of the original cache is revalidated", .revalidate) {
            $0.originals = content(expired)
        },
        Drift("A 304 renews the original of the original cache", .revalidate) {
            $0.originals = content(expired)
            $0.origin = .confirms
        },
        Drift("A fresh original of the original cache counts before another representation", .derive) {
            $0.policy = .http
            $0.language = "en"
            $0.own = bothLanguages(fresh)
            $0.originals = content(fresh)
            $0.asksCacheFirst = true
        },
        Drift("A remembered 404 yields to a newer image of a lower layer", .request) {
            $0.negativeTimeToLive = 1000
            $0.own = content { $0.answer = CacheContent.Answer(isTimed: true) }
            $0.layer = content(expired) {
                $0.answer = CacheContent.Answer(isFresh: false, isOlder: true, isTimed: true)
            }
        },
        Drift("An original in the image's cache does not count beside an original cache", .request) {
            $0.making = .grey
            $0.own = content(fresh, making: .grey)
            $0.originals = content()
        },
        Drift("A 404 that the original cache remembers counts", .answer) {
            $0.negativeTimeToLive = 1000
            $0.originals = content { $0.answer = CacheContent.Answer(isTimed: true) }
        },
        Drift("The cache that the options name is looked into", .disk) {
            $0.namesTargetCache = true
            $0.own = content(fresh)
        },
        Drift("An image in memory for another language is not served", .answer) {
            $0.policy = .http
            $0.memory = .otherLanguage
            $0.own = content {
                $0.varies = true
                $0.answer = CacheContent.Answer()
            }
        },
        Drift("Only-from-cache forbids the fetch after a miss in memory", .refuse) {
            $0.usesOnlyCache = true
            $0.usesMemoryOrRefresh = true
        },
        Drift("An expired processed image of a remote is not revalidated", .request) {
            $0.making = .grey
            $0.remote = remote(target: expired, making: .grey)
        },
        Drift("A remote's expired original does not replace one without a validator", .request) {
            $0.own = content(CacheContent.Picture(isFresh: false, validator: .none))
            $0.remote = remote(expired)
        },
        Drift("An expired original of a remote can serve when the origin is unavailable", .revalidate, .request) {
            $0.staleIfError = 10_000
            $0.remote = remote(expired)
            $0.origin = .unavailable
        },
        Drift("A remembered 404 counts before a remote under only-from-cache", .answer) {
            $0.policy = .http
            $0.usesOnlyCache = true
            $0.own = content(expired) { $0.answer = CacheContent.Answer() }
            $0.remote = remote(fresh)
        },
        Drift("An expired original of a remote is served under only-from-cache", .remote, .refuse) {
            $0.usesOnlyCache = true
            $0.staleIfError = 10_000
            $0.remote = remote(expired)
        },
        Drift("A remote's processed image needs the digest of its original", .refuse) {
            $0.making = .png
            $0.usesOnlyCache = true
            $0.remote = remote(target: fresh, making: .png)
        },
        Drift("A remote is asked for the representation of the request", .refuse) {
            $0.policy = .http
            $0.language = "en"
            $0.usesOnlyCache = true
            $0.own = bothLanguages(expired)
            $0.remote = remote(fresh)
        },
        Drift("A fresh image of a lower layer counts before an expired representation", .disk) {
            $0.policy = .http
            $0.language = "en"
            $0.own = bothLanguages(expired)
            $0.layer = content(fresh)
        },
        Drift("A layer's original makes an image although a 404 is remembered", .derive) {
            $0.making = .grey
            $0.negativeTimeToLive = 1000
            $0.own = content(making: .grey) { $0.answer = CacheContent.Answer(isTimed: true) }
            $0.layer = content(fresh, making: .grey)
        },
        Drift("A refresh after a miss in memory ignores a remembered 404", .request) {
            $0.policy = .http
            $0.usesMemoryOrRefresh = true
            $0.own = content { $0.answer = CacheContent.Answer() }
        },
        Drift("Offline, a layer's fresh original counts before its expired image", .derive) {
            $0.making = .grey
            $0.isOffline = true
            $0.asksCacheFirst = true
            $0.layer = content(fresh, target: expired, making: .grey)
        },
        Drift("The validator of the revalidated file is announced", .revalidate) {
            $0.making = .grey
            $0.revalidates = true
            $0.own = content(
                fresh, target: CacheContent.Picture(isFresh: false, validator: .date), making: .grey)
            $0.origin = .confirms
        },
    ]

    @Test("A state once announced wrongly ends as announced", arguments: drifts)
    func drift(_ drift: Drift) async throws {
        let world = try DecisionWorld()
        let announcements = try await world.announcements(drift.state)
        let deeds = [try await world.retrieved(drift.state), try await world.prefetched(drift.state)]
        for ((announcement, deed), step) in zip(zip(announcements, deeds), drift.steps) {
            #expect(announcement.step == step, "\(announcement.by.rawValue)")
            #expect(
                announcement.fits(deed, drift.state),
                "\(announcement.by.rawValue) announces \(announcement.step), done: \(deed)")
        }
    }
}
