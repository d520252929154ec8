protocol HeapElement {
    func precedes(_ other: Self) -> Bool
}

/// A binary heap: the element that comes before all others is first.
struct Heap<Element: HeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }

    mutating func insert(_ element: Element) {
        elements.append(element)
        elements.withUnsafeMutableBufferPointer { elements in
            var child = elements.count - 1
            while child > 0 {
                let parent = (child - 1) / 2
                guard elements[child].precedes(elements[parent]) else { return }
                elements.swapAt(child, parent)
                child = parent
            }
        }
    }

    mutating func popFirst() -> Element? {
        guard !elements.isEmpty else { return nil }
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        elements.withUnsafeMutableBufferPointer { elements in
            var parent = 0
            while true {
                var best = parent
                let child = 2 * parent + 1
                if child < elements.count, elements[child].precedes(elements[best]) { best = child }
                if child + 1 < elements.count, elements[child + 1].precedes(elements[best]) {
                    best = child + 1
                }
                guard best != parent else { return }
                elements.swapAt(best, parent)
                parent = best
            }
        }
        return first
    }

    mutating func removeAll(where isGone: (Element) -> Bool) {
        let kept = elements.filter { !isGone($0) }
        guard kept.count != elements.count else { return }
        elements.removeAll(keepingCapacity: true)
        for element in kept { insert(element) }
    }
}
