import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Cache keys of requests with modifiers", .bounded)
struct ModifierIdentityTests {
    private let server: IdentityFixture

    init() throws { server = try IdentityFixture() }

    @Test(
        "Concurrent calls with different modifiers get their own images",
        arguments: ["Authorization", "X-Key"])
    func joining(header: String) async throws {
        server.transport.close()
        let tasks = ["ann", "bob", ""].map { user in
            Task { [server] in
                try await server.retrieve {
                    if !user.isEmpty { $0.request.modifier = IdentityFixture.modifier(user, header) }
                }
            }
        }
        await server.transport.requested(3)
        server.transport.open()
        for (task, user) in zip(tasks, ["ann", "bob", ""]) { #expect(try await task.value.user == user) }
        #expect(server.transport.requests.count == 3)
    }

    @Test("Calls with different modifiers have their own cache entries")
    func caching() async throws {
        for expected in [RetrievalWay.fetched, .disk] {
            for user in ["ann", "bob", ""] {
                let result = try await server.retrieve {
                    if !user.isEmpty { $0.request.modifier = IdentityFixture.modifier(user) }
                }
                #expect(result.way == expected && result.user == user, "\(user)")
                #expect(!result.key.contains("ann") && !result.key.contains("bob"))
            }
        }
    }

    @Test(
        "A modifier's URL, or its user info, makes another entry but is not in its key",
        arguments: ["http://h/a.png?token=USER", "http://USER:pw@h/a.png"])
    func urls(_ url: String) async throws {
        for user in ["ann", "bob"] {
            let result = try await server.retrieve {
                $0.request.modifier = AnyModifier { _ in
                    (try? RequestURL(url.replacing("USER", with: user))).map { ImageDownloadRequest(url: $0) }
                }
            }
            #expect(result.way == .fetched && result.user == user)
            #expect(!result.key.contains(user))
        }
        #expect(try await server.retrieve().user == "")
    }

    @Test("A modifier that changes nothing shares the cached image")
    func neutral() async throws {
        _ = try await server.retrieve()
        #expect(try await server.retrieve { $0.request.modifier = AnyModifier { $0 } }.way == .disk)
        let agent = IdentityFixture.modifier("robot/1", "User-Agent")
        #expect(try await server.retrieve { $0.request.modifier = agent }.way == .disk)
    }

    @Test("Variants with different modifiers come from different images")
    func variants() async throws {
        let source = Source.network(try RequestURL("http://h/a.png"))
        let forms = ["ann", "bob"].map { user in
            ManagerFixture.options {
                $0.processor = CroppingImageProcessor(width: 3, height: 3)
                $0.cacheOriginalImage = true
                $0.request.modifier = IdentityFixture.modifier(user)
            }
        }
        let results = await server.manager.retrieveVariants(of: source, options: forms)
        #expect(results.count == 2 && server.transport.requests.count == 2)
        for user in ["ann", "bob"] {
            let original = try await server.retrieve { $0.request.modifier = IdentityFixture.modifier(user) }
            #expect(original.way == .disk && original.user == user)
        }
    }

    @Test("A prefetcher keeps the images of different modifiers apart")
    func prefetching() async throws {
        let sources = [Source.network(try RequestURL("http://h/a.png"))]
        var counts: [[Int]] = []
        for user in ["ann", "bob", "ann"] {
            let prefetcher = ImagePrefetcher(
                manager: server.manager,
                forms: [ManagerFixture.options { $0.request.modifier = IdentityFixture.modifier(user) }])
            let progress = await prefetcher.prefetch(sources).progress
            counts.append([progress.completed, progress.skipped])
        }
        #expect(counts == [[1, 0], [1, 0], [0, 1]])
        #expect(
            try await server.retrieve { $0.request.modifier = IdentityFixture.modifier("bob") }.user == "bob")
    }
}
