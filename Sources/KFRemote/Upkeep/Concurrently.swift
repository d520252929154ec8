import KFTerms

/// Calls `body` for each element, for at most `width` of them at a time, and passes its results to `take` as they come, one
/// by one. Ends with the first error of `take`, or when the task is cancelled.
func concurrently<Element: Sendable, Value: Sendable>(
    _ elements: some Sequence<Element>, width: Int, _ body: @escaping @Sendable (Element) async -> Value,
    take: (Value) throws(KingfisherError) -> Void
) async throws(KingfisherError) {
    let problem: KingfisherError? = await withTaskGroup(of: Value.self) { group in
        var rest = elements.makeIterator()
        func start() { if let next = rest.next() { group.addTask { await body(next) } } }
        for _ in 0..<width { start() }
        while let value = await group.next() {
            do throws(KingfisherError) {
                if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
                try take(value)
            } catch {
                group.cancelAll()
                return error
            }
            start()
        }
        return nil
    }
    if let problem { throw problem }
}
