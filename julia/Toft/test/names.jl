# Every name that the package exports is documented and there, no two methods are ambiguous, and what the package uses
# of Base's own names is there: without one it works less well, and does not say so.
# SPDX-License-Identifier: MIT OR Apache-2.0

# Since Julia 1.11, names returns public names too.
exported(M) = filter(name -> !isdefined(Base, :isexported) || Base.isexported(M, name), names(M))

@testset "names" begin
    documented = Set(binding.var for M in (Toft, Toft.Allocators) for binding in keys(Base.Docs.meta(M)))
    @test isempty(intersect(exported(Toft), Toft.PUBLIC))
    for name in union(names(Toft), Toft.PUBLIC)
        isdefined(Base, :ispublic) && @test Base.ispublic(Toft, name)
        @test isdefined(Toft, name)
        name in documented || println(name, " has no docstring")
        @test name in documented
    end
    @test isempty(detect_ambiguities(Toft))
end

# What DataStructures exports, 0.17 to 0.19, and words for which a program has variables.
const ELSEWHERE = Set(Symbol.(split("""
    Deque Stack Queue deque enqueue! dequeue! dequeue_pair! update! reverse_iter capacity num_blocks top top_with_handle
    sizehint! Accumulator counter reset! inc! dec! nlargest nsmallest heapify! heapify heappop! heappush! isheap
    IntDisjointSets IntDisjointSet DisjointSets DisjointSet num_groups find_root find_root! in_same_set root_union!
    AbstractHeap compare extract_all! extract_all_rev! BinaryHeap BinaryMinHeap BinaryMaxHeap BinaryMinMaxHeap
    MutableBinaryHeap MutableBinaryMinHeap MutableBinaryMaxHeap popmin! popmax! popall! pop_from! update! delete! all
    OrderedDict OrderedSet LittleDict freeze DefaultDict DefaultOrderedDict Trie subtrie keys_with_prefix partial_path
    find_prefixes LinkedList Nil Cons nil cons head tail list MutableLinkedList SortedDict SortedMultiDict SortedSet
    SDToken SDSemiToken SMDToken SMDSemiToken SetToken SetSemiToken startof pastendsemitoken beforestartsemitoken
    searchsortedafter searchequalrange packcopy packdeepcopy exclusive inclusive semitokens orderobject ordtype Lt
    onlysemitokens MultiDict enumerateall DiBitVector RobinDict OrderedRobinDict SwissDict isfull CircularBuffer
    CircularDeque SparseIntSet SortedIter AVLTree RBTree SplayTree sorted_rank FenwickTree length incdec! prefixsum
    status deref_key deref_value deref advance regress PriorityQueue peek token
    tag scope report stats alloc between column columns handle snapshot list mark size name count data state item""")))

@testset "no name of another package is exported" begin
    @test isempty(intersect(exported(Toft), ELSEWHERE))
    @test isempty(filter(name -> isdefined(Base, name), exported(Toft)))
    @test names(Toft.Allocators) == sort([
        :Allocators, :Allocator, :SOAllocator, :FreeListAllocator, :FreeListSOAllocator, :TupleVector, :N,
        :AbstractAllocator, :AbstractFreeListAllocator, :AbstractSOAllocator, :AbstractFreeListSOAllocator,
        :allocateend!, :allocatebegin!, :deallocateend!, :deallocatebegin!, :deallocate!, :emptyend!, :emptybegin!])
end

@testset "private names of Base" begin
    for name in (:isvatuple, :allocatedinline, :isbitsunion, :_unsetindex!, :format_bytes, :gc_live_bytes, :copymutable,
                 :emptymutable, :mergewith, :mergewith!, :deepcopy_internal, :JLOptions)
        isdefined(Base, name) || println("Base.", name, " is no more: Toft has a fallback")
        @test isdefined(Base, name)
    end
    @test isdefined(Base, :ismutabletype) == (VERSION >= v"1.7")
    @test isdefined(Base, :datatype_alignment)
    @test isdefined(Base, :OS_HANDLE) && isdefined(Base, :uv_error) && isdefined(Base.Filesystem, :JL_O_EXCL)
    @test all(!=(C_NULL), (cglobal(:jl_generating_output), cglobal(:jl_fs_write), cglobal(:jl_fs_rename)))
    # a slot that was freed keeps no object alive
    v = Vector{Any}([1, "two"])
    Toft.unset!(v, 2)
    @test !isassigned(v, 2) && v[1] == 1
    @test sizehint!(SortedSet{Int}(), 9; shrink=false) == Set()
    @test sizehint!(Stack{Int}(), 9; first=true) == Stack{Int}()
end
