import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Request modifiers and who shares their images", .bounded)
struct ModifierIdentityTests {
    private let server: IdentityFixture

    init() throws { server = try IdentityFixture() }

    @Test(
        "At the same time: each modifier gets its own transfer and its own image",
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

    @Test("One after the other: nobody is served another's image, everybody is served the own one again")
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

    @Test("A modifier that changes the URL makes another image, and its URL is not in the key")
    func urls() async throws {
        for user in ["ann", "bob"] {
            let result = try await server.retrieve {
                $0.request.modifier = AnyModifier { _ in
                    (try? RequestURL("http://h/a.png?token=\(user)")).map { ImageDownloadRequest(url: $0) }
                }
            }
            #expect(result.way == .fetched && result.user == user)
            #expect(!result.key.contains(user))
        }
        #expect(try await server.retrieve().user == "")
    }

    @Test("User info in the URL that a modifier gives is part of the identity")
    func userInfo() async throws {
        for user in ["ann", "bob"] {
            let result = try await server.retrieve {
                $0.request.modifier = AnyModifier { _ in
                    (try? RequestURL("http://\(user):pw@h/a.png")).map { ImageDownloadRequest(url: $0) }
                }
            }
            #expect(result.way == .fetched && result.user == user)
        }
    }

    @Test("A modifier that changes nothing, or only neutral headers, shares the image with everybody")
    func neutral() async throws {
        _ = try await server.retrieve()
        #expect(try await server.retrieve { $0.request.modifier = AnyModifier { $0 } }.way == .disk)
        let agent = IdentityFixture.modifier("robot/1", "User-Agent")
        #expect(try await server.retrieve { $0.request.modifier = agent }.way == .disk)
    }

    @Test("Variants of one source with different modifiers are made of each one's own image")
    func variants() async throws {
        let source = Source.network(try RequestURL("http://h/a.png"))
        let forms = ["ann", "bob"].map { user in
            server.options {
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

    @Test("A prefetcher keeps what a modifier brings apart, and finds it again")
    func prefetching() async throws {
        let sources = [Source.network(try RequestURL("http://h/a.png"))]
        var counts: [[Int]] = []
        for user in ["ann", "bob", "ann"] {
            let prefetcher = ImagePrefetcher(
                manager: server.manager,
                forms: [server.options { $0.request.modifier = IdentityFixture.modifier(user) }])
            let progress = await prefetcher.prefetch(sources).progress
            counts.append([progress.completed, progress.skipped])
        }
        #expect(counts == [[1, 0], [1, 0], [0, 1]])
        #expect(
            try await server.retrieve { $0.request.modifier = IdentityFixture.modifier("bob") }.user == "bob")
    }
}
